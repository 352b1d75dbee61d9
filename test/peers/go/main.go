// Peers of HTTP/2 and gRPC that others wrote, on both sides of the gateway.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func main() {
	switch os.Args[1] {
	case "serve":
		serve()
	case "grpc":
		callGrpc(os.Args[2])
	case "http":
		callHTTP(os.Args[2])
	case "wire":
		readWire()
	}
}

// Messages are bytes: what a schema would make of them is no business of a gateway.
type asIs struct{}

func (asIs) Name() string                  { return "raw" }
func (asIs) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (asIs) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func serve() {
	listener := listen()
	server := grpc.NewServer(grpc.ForceServerCodec(asIs{}), grpc.MaxRecvMsgSize(64<<20), grpc.UnknownServiceHandler(handle))
	go server.Serve(listener)
	plain := listen()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	web := &http.Server{Handler: http.HandlerFunc(echo), Protocols: &protocols}
	go web.Serve(plain)
	fmt.Printf("%d %d\n", port(listener), port(plain))
	// Until whoever started it goes away.
	io.Copy(io.Discard, os.Stdin)
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	return listener
}

func port(listener net.Listener) int { return listener.Addr().(*net.TCPAddr).Port }

func handle(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	stream.SetTrailer(metadata.Pairs("x-tail", "yes"))
	total := 0
	for {
		var message []byte
		err := stream.RecvMsg(&message)
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println("cancelled", strings.TrimPrefix(method, "/test.Go/"))
			return err
		}
		total += len(message)
		switch method {
		case "/test.Go/fail":
			return status.Error(codes.NotFound, "no such thing")
		case "/test.Go/silent":
			<-stream.Context().Done()
			fmt.Println("cancelled silent")
			return stream.Context().Err()
		case "/test.Go/server":
			for i := 0; i < 1000; i++ {
				if err := stream.SendMsg(&message); err != nil {
					return err
				}
			}
		case "/test.Go/both", "/test.Go/unary":
			if err := stream.SendMsg(&message); err != nil {
				return err
			}
		}
	}
	if method == "/test.Go/client" {
		sum := []byte(fmt.Sprint(total))
		return stream.SendMsg(&sum)
	}
	return nil
}

func callGrpc(address string) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(asIs{}), grpc.MaxCallRecvMsgSize(64<<20)))
	check(err)
	defer connection.Close()
	call := func(ctx context.Context, method string, send ...[]byte) (int, int, metadata.MD, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		kind := grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
		stream, err := connection.NewStream(ctx, &kind, "/test.Go/"+method)
		check(err)
		go func() {
			for _, message := range send {
				if stream.SendMsg(&message) != nil {
					return
				}
			}
			stream.CloseSend()
		}()
		messages, octets := 0, 0
		for {
			var message []byte
			if err := stream.RecvMsg(&message); err == io.EOF {
				return messages, octets, stream.Trailer(), nil
			} else if err != nil {
				return messages, octets, stream.Trailer(), err
			}
			messages++
			octets += len(message)
		}
	}
	background := context.Background()
	for i := 0; i < 3000; i++ {
		if _, octets, _, err := call(background, "unary", []byte("hello")); err != nil || octets != 5 {
			fmt.Println("unary", i, octets, err)
			os.Exit(1)
		}
	}
	large := bytes.Repeat([]byte("x"), 8<<20)
	messages, octets, trailer, err := call(background, "unary", large)
	fmt.Println("unary", messages, octets, trailer.Get("x-tail"), err)
	messages, octets, _, err = call(background, "server", make([]byte, 10_000))
	fmt.Println("server", messages, octets, err)
	many := make([][]byte, 1000)
	for i := range many {
		many[i] = make([]byte, 10_000)
	}
	messages, octets, _, err = call(background, "client", many...)
	fmt.Println("client", messages, octets, err)
	messages, octets, _, err = call(background, "both", many...)
	fmt.Println("both", messages, octets, err)
	_, _, _, err = call(background, "fail", []byte("x"))
	fmt.Println("fail", status.Code(err), status.Convert(err).Message())
	late, cancel := context.WithTimeout(background, 300*time.Millisecond)
	_, _, _, err = call(late, "silent", []byte("x"))
	cancel()
	fmt.Println("deadline", status.Code(err))
	given, giveUp := context.WithCancel(background)
	time.AfterFunc(300*time.Millisecond, giveUp)
	_, _, _, err = call(given, "silent", []byte("x"))
	fmt.Println("cancel", status.Code(err))
}

func echo(response http.ResponseWriter, request *http.Request) {
	response.Header().Set("Trailer", "X-Sum")
	if request.URL.Path == "/early" {
		response.WriteHeader(http.StatusTeapot)
		io.WriteString(response, "enough")
		return
	}
	response.Header().Set("Link", "</a>")
	response.WriteHeader(http.StatusEarlyHints)
	sum := sha256.New()
	controller := http.NewResponseController(response)
	controller.EnableFullDuplex()
	response.WriteHeader(http.StatusOK)
	// Otherwise a short body gets a Content-Length, and then trailers have no place.
	controller.Flush()
	part := make([]byte, 30_000)
	for {
		n, err := request.Body.Read(part)
		sum.Write(part[:n])
		response.Write(part[:n])
		if err != nil {
			break
		}
	}
	response.Header().Set("X-Sum", fmt.Sprintf("%x-%s", sum.Sum(nil), request.Trailer.Get("x-late")))
}

func callHTTP(url string) {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
	for _, size := range []int{0, 1, 16_384, 65_536, 1_000_000, 5_000_000} {
		body := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		request, err := http.NewRequest("POST", url+"/echo", io.MultiReader(bytes.NewReader(body)))
		check(err)
		response, err := client.Do(request)
		check(err)
		received, err := io.ReadAll(response.Body)
		check(err)
		want := fmt.Sprintf("%x-", sha256.Sum256(body))
		fmt.Println(size, response.StatusCode, bytes.Equal(received, body), response.Trailer.Get("X-Sum") == want)
	}
	request, err := http.NewRequest("POST", url+"/early", io.MultiReader(bytes.NewReader(make([]byte, 3_000_000))))
	check(err)
	response, err := client.Do(request)
	check(err)
	received, err := io.ReadAll(response.Body)
	fmt.Println("early", response.StatusCode, string(received), err)
}

func check(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
