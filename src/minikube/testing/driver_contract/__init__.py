"""What every driver must do, as tests: `pytest --pyargs minikube.testing.driver_contract --driver=NAME`."""
