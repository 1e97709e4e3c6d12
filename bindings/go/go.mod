module github.com/livebuf/livebuf/bindings/go

go 1.24
