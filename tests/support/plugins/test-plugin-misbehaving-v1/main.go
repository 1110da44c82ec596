// A docker-machine driver plugin of Go's standard library alone, byte for byte like libmachine's, that misbehaves when told to:
// MISBEHAVE in its environment names how. Its machine is a file.
package main

import (
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/rpc"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type Empty struct{}

type StringFlag struct{ Name, Usage, EnvVar, Value string }
type IntFlag struct {
	Name, Usage, EnvVar string
	Value               int
}
type StringSliceFlag struct {
	Name, Usage, EnvVar string
	Value               []string
}
type BoolFlag struct{ Name, Usage, EnvVar string }
type Flag interface{ String() string }

func (f *StringFlag) String() string      { return f.Name }
func (f *IntFlag) String() string         { return f.Name }
func (f *StringSliceFlag) String() string { return f.Name }
func (f *BoolFlag) String() string        { return f.Name }

type RPCFlags struct{ Values map[string]interface{} }
type Options interface{ Bool(key string) bool }

func (f RPCFlags) Bool(key string) bool { b, _ := f.Values[key].(bool); return b }

type Driver struct {
	config map[string]interface{}
	beats  chan bool
}

var how = os.Getenv("MISBEHAVE")

func (d *Driver) path() string {
	return filepath.Join(fmt.Sprint(d.config["StorePath"]), "machines", fmt.Sprint(d.config["MachineName"]), "machine.state")
}

func (d *Driver) write(state int) error {
	return os.WriteFile(d.path(), []byte(strconv.Itoa(state)), 0o600)
}

func (d *Driver) text(key string, reply *string) error {
	*reply, _ = d.config[key].(string)
	return nil
}

func (d *Driver) GetVersion(_ *Empty, reply *int) error {
	*reply = 1
	if how == "version" {
		*reply = 2
	}
	return nil
}

func (d *Driver) Heartbeat(_ *Empty, _ *Empty) error { d.beats <- true; return nil }

func (d *Driver) Close(_ *Empty, _ *Empty) error {
	fmt.Fprintln(os.Stderr, "Closing plugin on server side")
	if how != "stubborn" {
		os.Exit(0)
	}
	return nil
}

func (d *Driver) SetConfigRaw(raw []byte, _ *Empty) error { return json.Unmarshal(raw, &d.config) }

func (d *Driver) GetConfigRaw(_ *Empty, reply *[]byte) (err error) {
	*reply, err = json.Marshal(d.config)
	if how == "config" {
		*reply = []byte("[not a configuration")
	}
	return err
}

func (d *Driver) GetCreateFlags(_ *Empty, reply *[]Flag) error {
	*reply = []Flag{
		&StringFlag{"misbehaving-text", "A text", "MISBEHAVING_TEXT", "as it was"},
		&IntFlag{"misbehaving-number", "A number", "MISBEHAVING_NUMBER", -7},
		&BoolFlag{"misbehaving-switch", "A switch", ""},
		&StringSliceFlag{"misbehaving-list", "A list", "MISBEHAVING_LIST", []string{"one", "two, three"}},
		&StringFlag{"misbehaving-other", "Another text", "", ""},
	}
	return nil
}

func (d *Driver) SetConfigFromFlags(options *Options, _ *Empty) error {
	d.config["Flags"] = (*options).(*RPCFlags).Values
	if d.config["Flags"].(map[string]interface{})["misbehaving-switch"] == true {
		return errors.New("the switch must stay off")
	}
	d.config["SSHUser"], d.config["SSHPort"] = "user", d.config["Flags"].(map[string]interface{})["misbehaving-number"]
	return nil
}

func (d *Driver) DriverName(_ *Empty, reply *string) error { *reply = "misbehaving"; return nil }
func (d *Driver) GetMachineName(_ *Empty, reply *string) error {
	return d.text("MachineName", reply)
}
func (d *Driver) GetSSHKeyPath(_ *Empty, reply *string) error  { return d.text("SSHKeyPath", reply) }
func (d *Driver) GetSSHUsername(_ *Empty, reply *string) error { return d.text("SSHUser", reply) }
func (d *Driver) GetIP(_ *Empty, reply *string) error          { return d.text("IPAddress", reply) }
func (d *Driver) GetSSHHostname(_ *Empty, reply *string) error { return d.text("IPAddress", reply) }
func (d *Driver) GetSSHPort(_ *Empty, reply *int) error {
	// JSON has no integers; nobody sets the port to 0.
	switch port := d.config["SSHPort"].(type) {
	case int:
		*reply = port
	case float64:
		*reply = int(port)
	default:
		*reply = 22
	}
	return nil
}
func (d *Driver) GetURL(_ *Empty, reply *string) error {
	panic("no URL here")
}

func (d *Driver) GetState(_ *Empty, reply *int) error {
	if how == "state" {
		*reply = 99
		return nil
	}
	raw, err := os.ReadFile(d.path())
	if err != nil {
		return errors.New("the machine does not exist")
	}
	*reply, _ = strconv.Atoi(string(raw))
	return nil
}

func (d *Driver) PreCreateCheck(_ *Empty, _ *Empty) error {
	if how == "check" {
		return errors.New("the hypervisor is not installed")
	}
	return nil
}

func (d *Driver) Create(_ *Empty, _ *Empty) (err error) {
	// libmachine turns a panic in Create, and only there, into an error.
	defer func() {
		if e, ok := recover().(error); ok {
			err = fmt.Errorf("Panic in the driver: %s\n%s", e, debug.Stack())
		}
	}()
	switch how {
	case "create":
		return errors.New("no space left for machines")
	case "panic":
		panic(errors.New("nil map"))
	case "exit":
		fmt.Fprintln(os.Stderr, "out of luck")
		os.Exit(4)
	case "killed":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "frozen":
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		time.Sleep(time.Minute) // another thread may be the one that stops, a moment later
	case "lines":
		long := strings.Repeat("x", 1<<20)
		fmt.Println(long)
		fmt.Fprintln(os.Stderr, long)
		fmt.Println("after the long line")
	case "child":
		child := exec.Command("sleep", "30")
		child.Stdout, child.Stderr = os.Stdout, os.Stderr
		if err := child.Start(); err != nil {
			return err
		}
		fmt.Printf("child %d\n", child.Process.Pid)
	case "slow":
		time.Sleep(3 * time.Second)
	case "endless":
		d.write(6)
		time.Sleep(time.Hour)
	}
	d.config["IPAddress"] = "127.0.0.1"
	return d.write(1)
}

func (d *Driver) Start(_ *Empty, _ *Empty) error { return d.write(1) }
func (d *Driver) Stop(_ *Empty, _ *Empty) error {
	if how == "stop" {
		return errors.New("it does not listen")
	}
	return d.write(4)
}
func (d *Driver) Restart(_ *Empty, _ *Empty) error { return d.write(1) }
func (d *Driver) Kill(_ *Empty, _ *Empty) error    { return d.write(4) }
func (d *Driver) Remove(_ *Empty, _ *Empty) error {
	if how == "remove" {
		return errors.New("it is wanted elsewhere")
	}
	return os.Remove(d.path())
}

func main() {
	if os.Getenv("MACHINE_PLUGIN_TOKEN") != "42" {
		fmt.Fprintln(os.Stderr, "This is a Docker Machine plugin binary.\nPlugin binaries are not intended to be invoked directly.")
		os.Exit(1)
	}
	package_, patience := "rpcdriver", 10*time.Second
	switch how {
	case "banner":
		fmt.Println("Welcome to the misbehaving driver!")
	case "mute":
		time.Sleep(time.Hour)
	case "dead":
		fmt.Fprintln(os.Stderr, "libvirt.so.0: cannot open shared object file")
		os.Exit(127)
	case "impatient", "slow":
		patience = time.Second
	case "renamed":
		package_ = "rpc"
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	}
	gob.RegisterName("*mcnflag.StringFlag", new(StringFlag))
	gob.RegisterName("*mcnflag.IntFlag", new(IntFlag))
	gob.RegisterName("*mcnflag.StringSliceFlag", new(StringSliceFlag))
	gob.RegisterName("*mcnflag.BoolFlag", new(BoolFlag))
	gob.RegisterName("*"+package_+".RPCFlags", new(RPCFlags))

	driver := &Driver{config: map[string]interface{}{}, beats: make(chan bool)}
	service := "RPCServerDriver"
	if how == "old" {
		service = "RpcServerDriver"
	}
	if err := rpc.RegisterName(service, driver); err != nil {
		panic(err)
	}
	switch how {
	case "html":
		http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "<html>") })
	case "noise":
		http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
			connection, _, _ := w.(http.Hijacker).Hijack()
			fmt.Fprint(connection, "HTTP/1.0 200 Connected to Go RPC\n\n"+strings.Repeat("no gob ", 50))
		})
	default:
		rpc.HandleHTTP()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	if how == "closed" {
		listener.Close()
	}
	fmt.Println(listener.Addr())
	go http.Serve(listener, nil)
	for {
		select {
		case <-driver.beats:
		case <-time.After(patience):
			os.Exit(1)
		}
	}
}
