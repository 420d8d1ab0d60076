package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// writeSBOM writes what the programs are made of, in SPDX 2.3.
func (r *release) writeSBOM(repo string, c commit) error {
	all, err := dependencies(repo)
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(r.out, "interlock_"+r.version+".spdx.json"))
	if err != nil {
		return err
	}
	defer file.Close()
	return json.Write(r.sbom(all, c), file, json.Indent(" "))
}

func (r *release) sbom(all []dependency, c commit) *spdx.Document {
	const itself = "interlock"
	doc := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: "interlock " + r.version,
		// The hash makes it unique, as the format demands, and the same for the same commit.
		DocumentNamespace: fmt.Sprintf("https://%s/spdx/%s/%s", root, r.version, c.hash),
		CreationInfo: &spdx.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Organization", Creator: "Interlock"}, {CreatorType: "Tool", Creator: "tools/release"}},
			Created:  c.date.Format(time.RFC3339),
		},
		Packages: []*spdx.Package{packageOf(itself, root, r.version, "Apache-2.0")},
		Relationships: []*spdx.Relationship{{
			RefA: common.MakeDocElementID("", "DOCUMENT"), RefB: common.MakeDocElementID("", itself), Relationship: common.TypeRelationshipDescribe,
		}},
	}
	for _, d := range all {
		id := "module-" + regexp.MustCompile(`[^A-Za-z0-9.-]+`).ReplaceAllString(d.path, "-")
		doc.Packages = append(doc.Packages, packageOf(id, d.path, d.version, strings.Join(d.licences, " AND ")))
		doc.Relationships = append(doc.Relationships, &spdx.Relationship{
			RefA: common.MakeDocElementID("", itself), RefB: common.MakeDocElementID("", id), Relationship: common.TypeRelationshipDependsOn,
		})
	}
	return doc
}

func packageOf(id, path, version, licence string) *spdx.Package {
	p := &spdx.Package{
		PackageName: path, PackageSPDXIdentifier: common.ElementID(id), PackageVersion: version,
		PackageDownloadLocation: "NOASSERTION", PackageLicenseConcluded: licence, PackageLicenseDeclared: licence, PackageCopyrightText: "NOASSERTION",
	}
	if path != goItself {
		p.PackageExternalReferences = []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: "pkg:golang/" + path + "@" + version,
		}}
	}
	return p
}
