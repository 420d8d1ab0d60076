module github.com/interlock-run/interlock/tools/cells

go 1.26.0
