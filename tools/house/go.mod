module github.com/interlock-run/interlock/tools/house

go 1.26.0
