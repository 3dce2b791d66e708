package law_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestExpressions: each expression of package lazyregexp that stands in one piece compiles, also one that no test uses.
func TestExpressions(t *testing.T) {
	out, err := exec.Command("git", "-C", "../..", "grep", "-l", "lazyregexp.New(", "--", "*.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	count, files := 0, token.NewFileSet()
	for name := range strings.FieldsSeq(string(out)) {
		file, err := parser.ParseFile(files, "../../"+name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || f.Sel.Name != "New" {
				return true
			}
			if room, ok := f.X.(*ast.Ident); !ok || room.Name != "lazyregexp" {
				return true
			}
			if text, ok := call.Args[0].(*ast.BasicLit); ok {
				count++
				expression, err := strconv.Unquote(text.Value)
				if err == nil {
					_, err = regexp.Compile(expression)
				}
				if err != nil {
					t.Errorf("%s: %v", files.Position(text.Pos()), err)
				}
			}
			return true
		})
	}
	if count < 50 {
		t.Errorf("%d expressions were found", count)
	}
}
