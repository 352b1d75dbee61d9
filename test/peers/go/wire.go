// What Go makes of the bytes of others: header blocks, connections of clients and of servers.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A line of input; bytes are in base64.
type task struct {
	// Blocks of several connections, for `hpack`.
	Blocks [][]string `json:"blocks"`
	// Fields of several connections, for Go's own encoder: table size, then names and values.
	Fields [][][]string `json:"fields"`
	// What one client says, or one server.
	Client string `json:"client"`
	Server string `json:"server"`
	// Requests that are under way when the server begins to speak.
	Count int `json:"count"`
	// Milliseconds for goroutines to begin and end.
	Patience int `json:"patience"`
}

type outcome struct {
	// Fields of each block, or null for what is none; nothing is read behind that.
	Read    [][][][2]string `json:"read,omitempty"`
	Written [][]string      `json:"written,omitempty"`
	Seen    []string        `json:"seen"`
	// RST_STREAM and GOAWAY frames that were sent: `reset 3 8`, `goaway 1`.
	Said []string `json:"said"`
	// Bytes of bodies that were sent, by stream.
	Sent map[uint32]int `json:"sent"`
}

// Lines are looked at in parallel, and their results written in order.
func readWire() {
	// What Go has to say of bytes that are none of HTTP/2 is of no interest here.
	log.SetOutput(io.Discard)
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	waiting := make(chan chan []byte, 32)
	done := make(chan struct{})
	go func() {
		out := bufio.NewWriter(os.Stdout)
		for one := range waiting {
			out.Write(<-one)
			out.WriteByte('\n')
			if len(waiting) == 0 {
				out.Flush()
			}
		}
		out.Flush()
		close(done)
	}()
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var own task
		check(json.Unmarshal(line, &own))
		one := make(chan []byte, 1)
		waiting <- one
		go func() {
			text, err := json.Marshal(run(own))
			check(err)
			one <- text
		}()
	}
	close(waiting)
	<-done
}

func run(own task) outcome {
	if own.Client != "" {
		return serveBytes(bytesOf(own.Client), own.patience())
	}
	if own.Server != "" {
		return askBytes(bytesOf(own.Server), own.Count, own.patience())
	}
	result := outcome{}
	for _, blocks := range own.Blocks {
		result.Read = append(result.Read, readBlocks(blocks))
	}
	for _, fields := range own.Fields {
		result.Written = append(result.Written, writeBlocks(fields))
	}
	return result
}

func (own task) patience() time.Duration {
	return time.Duration(own.Patience) * time.Millisecond
}

func bytesOf(text string) []byte {
	octets, err := base64.StdEncoding.DecodeString(text)
	check(err)
	return octets
}

func readBlocks(blocks []string) [][][2]string {
	decoder := hpack.NewDecoder(4096, nil)
	all := [][][2]string{}
	for _, block := range blocks {
		fields, err := decoder.DecodeFull(bytesOf(block))
		if err != nil {
			return append(all, nil)
		}
		own := [][2]string{}
		for _, field := range fields {
			own = append(own, [2]string{asText(field.Name), asText(field.Value)})
		}
		all = append(all, own)
	}
	return all
}

// Each byte a character.
func asText(octets string) string {
	runes := make([]rune, len(octets))
	for i := range runes {
		runes[i] = rune(octets[i])
	}
	return string(runes)
}

func asBytes(text string) string {
	octets := []byte{}
	for _, one := range text {
		octets = append(octets, byte(one))
	}
	return string(octets)
}

func writeBlocks(messages [][]string) []string {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	all := []string{}
	for _, message := range messages {
		var size uint32
		if fmt.Sscan(message[0], &size); size < 5_000 {
			encoder.SetMaxDynamicTableSize(size)
		}
		for i := 1; i < len(message); i += 2 {
			sensitive := strings.HasPrefix(message[i], "set-")
			encoder.WriteField(hpack.HeaderField{Name: asBytes(message[i]), Value: asBytes(message[i+1]), Sensitive: sensitive})
		}
		all = append(all, base64.StdEncoding.EncodeToString(block.Bytes()))
		block.Reset()
	}
	return all
}

const enough = 200 * time.Millisecond

// What a server of Go sees of what a client sends.
func serveBytes(octets []byte, patience time.Duration) outcome {
	ours, theirs := net.Pipe()
	var lock sync.Mutex
	var handlers sync.WaitGroup
	result := outcome{Seen: []string{}, Said: []string{}, Sent: map[uint32]int{}}
	handler := func(response http.ResponseWriter, request *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return
		}
		lock.Lock()
		result.Seen = append(result.Seen, shownRequest(request, body))
		lock.Unlock()
		response.WriteHeader(200)
		response.Write(responseTo(request.RequestURI))
	}
	served := make(chan struct{})
	go func() {
		server := &http2.Server{MaxConcurrentStreams: 128, MaxReadFrameSize: 16_384, MaxUploadBufferPerStream: 65_535, MaxUploadBufferPerConnection: 1 << 20}
		base := &http.Server{MaxHeaderBytes: 36_000}
		server.ServeConn(theirs, &http2.ServeConnOpts{BaseConfig: base, Handler: http.HandlerFunc(handler)})
		close(served)
	}()
	idle := make(chan struct{})
	heard := make(chan struct{})
	var once sync.Once
	go func() {
		defer close(heard)
		framer := http2.NewFramer(io.Discard, ours)
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				once.Do(func() {
					// By the server, which did not say why.
					lock.Lock()
					result.Said = append(result.Said, "closed")
					lock.Unlock()
					close(idle)
				})
				return
			}
			lock.Lock()
			switch own := frame.(type) {
			case *http2.GoAwayFrame:
				result.Said = append(result.Said, fmt.Sprint("goaway ", uint32(own.ErrCode)))
				if own.ErrCode != http2.ErrCodeNo {
					// What follows is read by nobody.
					ours.SetWriteDeadline(time.Now())
				}
				once.Do(func() { close(idle) })
			case *http2.RSTStreamFrame:
				result.Said = append(result.Said, fmt.Sprint("reset ", own.StreamID, " ", uint32(own.ErrCode)))
			case *http2.DataFrame:
				result.Sent[own.StreamID] += len(own.Data())
			case *http2.PingFrame:
				if string(own.Data[:]) == "the end!" {
					once.Do(func() { close(idle) })
				}
			}
			lock.Unlock()
		}
	}()
	ours.SetWriteDeadline(time.Now().Add(enough))
	ours.Write(octets)
	ours.Write([]byte("\x00\x00\x08\x06\x00\x00\x00\x00\x00the end!"))
	select {
	case <-idle:
	case <-time.After(enough):
		once.Do(func() { close(idle) })
	}
	// Handlers of requests that are whole may have yet to begin.
	time.Sleep(patience)
	ours.Close()
	<-heard
	<-served
	handlers.Wait()
	lock.Lock()
	defer lock.Unlock()
	sort.Strings(result.Seen)
	return result
}

var sized = regexp.MustCompile(`^/\d+/(\d{1,4})/`)

// Scripts say in the path how many bytes a response is to have.
func responseTo(path string) []byte {
	found := sized.FindStringSubmatch(path)
	if found == nil {
		return nil
	}
	size, _ := strconv.Atoi(found[1])
	return bytes.Repeat([]byte("z"), size)
}

func shownRequest(request *http.Request, body []byte) string {
	fields := linesOf(request.Header)
	if request.ContentLength > 0 {
		fields = append(fields, fmt.Sprint("content-length: ", request.ContentLength))
		sort.Strings(fields)
	}
	text, _ := json.Marshal([]any{request.Method, request.RequestURI, asText(request.Host), fields, asText(string(body)), linesOf(request.Trailer)})
	return string(text)
}

func linesOf(header http.Header) []string {
	lines := []string{}
	for name, values := range header {
		if strings.EqualFold(name, "content-length") {
			continue
		}
		for _, value := range values {
			lines = append(lines, asText(strings.ToLower(name)+": "+value))
		}
	}
	sort.Strings(lines)
	return lines
}

// What a client of Go makes of what a server sends.
func askBytes(octets []byte, count int, patience time.Duration) outcome {
	ours, theirs := net.Pipe()
	var lock sync.Mutex
	result := outcome{Seen: make([]string, count), Said: []string{}}
	opened := make(chan struct{}, count)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if _, err := io.ReadFull(theirs, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		framer := http2.NewFramer(io.Discard, theirs)
		for {
			frame, err := framer.ReadFrame()
			if err != nil {
				return
			}
			switch own := frame.(type) {
			case *http2.HeadersFrame:
				opened <- struct{}{}
			case *http2.GoAwayFrame:
				lock.Lock()
				result.Said = append(result.Said, fmt.Sprint("goaway ", uint32(own.ErrCode)))
				lock.Unlock()
			case *http2.RSTStreamFrame:
				lock.Lock()
				result.Said = append(result.Said, fmt.Sprint("reset ", own.StreamID, " ", uint32(own.ErrCode)))
				lock.Unlock()
			}
		}
	}()
	greeted := make(chan struct{})
	go func() {
		theirs.Write([]byte("\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
		close(greeted)
	}()
	transport := &http2.Transport{AllowHTTP: true, DisableCompression: true}
	connection, err := transport.NewClientConn(ours)
	check(err)
	<-greeted
	var all sync.WaitGroup
	for i := range count {
		all.Add(1)
		go func() {
			defer all.Done()
			request, _ := http.NewRequest("GET", fmt.Sprint("http://x/", i), nil)
			result.Seen[i] = shownResponse(connection.RoundTrip(request))
		}()
		<-opened
	}
	theirs.SetWriteDeadline(time.Now().Add(enough))
	theirs.Write(octets)
	time.Sleep(patience)
	theirs.Close()
	<-closed
	all.Wait()
	return result
}

func shownResponse(response *http.Response, err error) string {
	if err != nil {
		return "failed"
	}
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "failed"
	}
	fields := linesOf(response.Header)
	if response.ContentLength >= 0 && response.Header.Get("Content-Length") != "" {
		fields = append(fields, fmt.Sprint("content-length: ", response.ContentLength))
		sort.Strings(fields)
	}
	text, _ := json.Marshal([]any{response.StatusCode, fields, asText(string(body)), linesOf(response.Trailer)})
	return string(text)
}
