module minikube.test/misbehaving

go 1.24
