package main

import (
	"github.com/heddle-network/heddle/crowd/program"
	"github.com/heddle-network/heddle/crowd/report"
	"github.com/heddle-network/heddle/crowd/scenario"
)

// servicesOf says what answers for each service that a scenario uses. It refuses a program that is not installed here.
func servicesOf(read scenario.Scenario) (map[string]report.Service, error) {
	versions := map[string]string{"": ""} // of what is built in
	for _, name := range read.Programs() {
		found, err := program.Find(name)
		if err != nil {
			return nil, err
		}
		versions[name] = found.Version
	}
	all := map[string]report.Service{}
	for name, by := range read.Servers() {
		all[name] = report.Service{By: by.By, Version: versions[by.By], TLS: by.TLS, HTTP: by.HTTP}
	}
	return all, nil
}
