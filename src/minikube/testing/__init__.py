"""For people who write drivers: the tests that say whether one is right. Nothing of minikube itself imports this."""
