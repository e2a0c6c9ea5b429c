module memcached-operator/devcluster/prom2json

go 1.26.0

tool github.com/prometheus/prom2json/cmd/prom2json

require (
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/matttproud/golang_protobuf_extensions v1.0.4 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/prometheus/client_model v0.6.1 // indirect
	github.com/prometheus/common v0.63.0 // indirect
	github.com/prometheus/prom2json v1.4.2 // indirect
	github.com/prometheus/prometheus v0.302.1 // indirect
	google.golang.org/protobuf v1.36.5 // indirect
)
