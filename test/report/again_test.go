package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const odd = `package b

import "testing"

func TestOdd(t *testing.T) {
	for _, name := range []string{"it's", "a b", "1+1 (x|y) [z]", "up/down", "back\\slash $HOME \"q\" *", "tab\tin", "alike", "alike", "", "always"} {
		t.Run(name, func(t *testing.T) { t.Error("wrong") })
	}
}

func TestOddToo(t *testing.T) { t.Error("wrong") }
`

// TestAgain has a shell run the printed commands: each runs one test alone, whatever its name.
func TestAgain(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module "+module+"\n")
	write(t, filepath.Join(dir, "b", "b_test.go"), odd)
	in := func(name string, args ...string) []byte {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
		out, _ := cmd.CombinedOutput()
		return out
	}
	text, s := report(t, in("go", "test", "-json", "-trimpath", "-vet=off", "-o", "b.test", "./b"))
	parts := 0
	all := again("b TestOdd/it's") // this one as it is, the others without compiling again
	all = strings.TrimSuffix(all, quote(pattern("TestOdd/it's")))
	for key := range s.runs {
		_, test, _ := strings.Cut(key, " ")
		_, part, isPart := strings.Cut(test, "/")
		if !isPart {
			continue
		}
		parts++
		command := again(key)
		if !strings.Contains(text, "again: "+command+"\n") {
			t.Errorf("the report lacks %s", command)
		}
		if part != "it's" {
			command = strings.Replace(command, all, "./b.test -test.v -test.run ", 1)
		}
		out := string(in("sh", "-c", command))
		if strings.Count(out, "=== RUN") != 2 || !strings.Contains(out, "--- FAIL: TestOdd/"+part+" ") {
			t.Errorf("%s does not run %q alone:\n%s", command, test, out)
		}
	}
	if parts != 10 {
		t.Errorf("%d parts failed:\n%s", parts, text)
	}
}

// TestNotCompiled: the command names the folder of what does not compile, and it counts once.
func TestNotCompiled(t *testing.T) {
	for _, built := range []string{"a [" + module + "/a.test]", "a_test [" + module + "/a.test]"} {
		built = module + "/" + built
		text, s := report(t, []byte(`{"ImportPath":"`+built+`","Action":"build-output","Output":"undefined: y\n"}
{"ImportPath":"`+built+`","Action":"build-fail"}
{"Action":"start","Package":"`+module+`/a"}
{"Action":"output","Package":"`+module+`/a","Output":"FAIL a [build failed]\n"}
{"Action":"fail","Package":"`+module+`/a","FailedBuild":"`+built+`"}
`))
		check(t, text, []string{"again: CGO_ENABLED=0 go test -trimpath " + each + " ./a\n", "undefined: y", "[build failed]", "0 passed, 1 failed"}, []string{"-run"})
		if !s.bad() {
			t.Error("what does not compile is good")
		}
	}
	if got := again(short("./nowhere") + " "); !strings.HasSuffix(got, " ./nowhere") {
		t.Error(got)
	}
}

// TestMakefile: the printed flags are the Makefile's; flaky says at once that it lacks a package.
func TestMakefile(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip(err)
	}
	dry := func(args ...string) (string, error) {
		cmd := exec.Command("make", append([]string{"-n", "-C", filepath.Join("..", "..")}, args...)...)
		for _, v := range os.Environ() { // not those of the make that runs this test
			if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "MAKE") && name != "MFLAGS" && name != "PKG" {
				cmd.Env = append(cmd.Env, v)
			}
		}
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := dry("flaky", "PKG=./ipam"); err != nil || !strings.Contains(out, " test -json "+each+" -run") || !strings.Contains(out, "deps.sh") {
		t.Errorf("flaky: %v\n%s", err, out)
	}
	for _, pkg := range []string{"PKG=", "PKG= "} {
		if out, err := dry("flaky", pkg); err == nil || !strings.Contains(out, "say of what") || strings.Contains(out, "deps.sh") {
			t.Errorf("flaky without a package: %v\n%s", err, out)
		}
	}
	if out, err := dry("test-pure"); err != nil || !strings.Contains(out, "./test/poll") {
		t.Errorf("test-pure: %v\n%s", err, out)
	}
}
