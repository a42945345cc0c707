// Measures HashiCorp memberlist over real sockets on loopback, many nodes in one process. One JSON object a line.
// bench/peers/nekton measures the same of nekton; bench/peers/compare.py runs both. See -help.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand"
	"net"
	"os"
	"runtime"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hashicorp/memberlist"
)

var (
	nodesFlag    = flag.Int("nodes", 8, "nodes in this process, 2 to 1000")
	scenarioFlag = flag.String("scenario", "steady", "steady | kill | quarter | loss | split | sick")
	seconds      = flag.Int("seconds", 20, "steady, loss, sick: how long is measured; split: how long it lasts")
	kills        = flag.Int("kills", 4, "kill: how many, one after another")
	silent       = flag.Bool("silent", false, "kill, quarter: the host falls silent, instead of the process ending (its port refuses)")
	loss         = flag.Float64("loss", 0.3, "loss: of each datagram, and of each segment of a stream")
	perfect      = flag.Bool("perfect_streams", false, "loss: streams lose nothing")
	compression  = flag.Bool("compression", true, "memberlist's own default")
	joinLimit    = flag.Duration("join_limit", 2*time.Minute, "until then all tables must be complete")
	seed         = flag.Int64("seed", 1, "of losses and victims; memberlist draws its own")
)

// What the network between the nodes does. One for all.
type weather struct {
	loss  uint64 // of a datagram or segment, in 1e-9
	split int32  // whether the two sides are cut off from each other
}

var sky weather

func rolled(loss uint64) bool { return loss > 0 && uint64(rand.Int63n(1e9)) < loss }
func lost() bool              { return rolled(atomic.LoadUint64(&sky.loss)) }

// The transport of one node: memberlist's own over real sockets, counted, and with faults in between.
type faulty struct {
	inner     *memberlist.NetTransport
	side      int32
	mute      int32
	loss      uint64 // its own, of all that it sends and is sent, in 1e-9
	datagrams uint64
	bytes     uint64
}

// By address, so that a sender knows whom it cannot reach.
var (
	transportsMutex sync.RWMutex
	transports      = map[string]*faulty{}
)

func (f *faulty) cut(to string) bool {
	transportsMutex.RLock()
	other := transports[to]
	transportsMutex.RUnlock()
	if atomic.LoadInt32(&f.mute) != 0 {
		return true
	}
	if other == nil {
		return false
	}
	return atomic.LoadInt32(&other.mute) != 0 || (atomic.LoadInt32(&sky.split) != 0 && other.side != f.side)
}

// Whether a datagram, or a segment, between this one and another is lost.
func (f *faulty) lost(to string) bool {
	transportsMutex.RLock()
	other := transports[to]
	transportsMutex.RUnlock()
	return lost() || rolled(atomic.LoadUint64(&f.loss)) || (other != nil && rolled(atomic.LoadUint64(&other.loss)))
}
func (f *faulty) segmentLost(to string) bool { return !*perfect && f.lost(to) }

func (f *faulty) FinalAdvertiseAddr(ip string, port int) (net.IP, int, error) {
	return f.inner.FinalAdvertiseAddr(ip, port)
}
func (f *faulty) PacketCh() <-chan *memberlist.Packet { return f.inner.PacketCh() }
func (f *faulty) StreamCh() <-chan net.Conn           { return f.inner.StreamCh() }
func (f *faulty) Shutdown() error                     { return f.inner.Shutdown() }

func (f *faulty) WriteTo(b []byte, to string) (time.Time, error) {
	atomic.AddUint64(&f.datagrams, 1)
	atomic.AddUint64(&f.bytes, uint64(len(b)))
	if f.cut(to) || f.lost(to) {
		return time.Now(), nil
	}
	return f.inner.WriteTo(b, to)
}

var errNoAnswer = errors.New("i/o timeout")

// A lost SYN, or its answer, is sent again after 1, 2, 4 s; a lost segment after 200, 400, ... ms.
func (f *faulty) DialTimeout(to string, limit time.Duration) (net.Conn, error) {
	deadline := time.Now().Add(limit)
	if f.cut(to) {
		time.Sleep(limit)
		return nil, errNoAnswer
	}
	for again := time.Second; f.segmentLost(to) || f.segmentLost(to); again *= 2 {
		if time.Now().Add(again).After(deadline) {
			time.Sleep(time.Until(deadline))
			return nil, errNoAnswer
		}
		time.Sleep(again)
	}
	conn, err := f.inner.DialTimeout(to, time.Until(deadline))
	if err != nil {
		return nil, err
	}
	return &lossyConn{conn, f, to}, nil
}

type lossyConn struct {
	net.Conn
	from *faulty
	to   string
}

func (c *lossyConn) Write(b []byte) (int, error) {
	for again := 200 * time.Millisecond; c.from.segmentLost(c.to); again *= 2 {
		time.Sleep(again)
	}
	return c.Conn.Write(b)
}

// What all nodes say of each other, in one list.
type note struct {
	at    time.Time
	by    string
	about string
}
type journal struct {
	mutex              sync.Mutex
	suspicions, deaths []note
	complete           map[string]time.Time // when a node first knew all others
	known              map[string]int
	nodes              int
}

func (j *journal) clear() {
	j.mutex.Lock()
	j.suspicions, j.deaths = nil, nil
	j.mutex.Unlock()
}

func (j *journal) count(list *[]note) int {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return len(*list)
}

type node struct {
	name      string
	list      *memberlist.Memberlist
	transport *faulty
	book      *journal
	dead      bool
}

func (n *node) NotifyJoin(x *memberlist.Node) {
	n.book.mutex.Lock()
	defer n.book.mutex.Unlock()
	n.book.known[n.name]++
	if _, done := n.book.complete[n.name]; !done && n.book.known[n.name] == n.book.nodes {
		n.book.complete[n.name] = time.Now()
	}
}
func (n *node) NotifyLeave(x *memberlist.Node) {
	n.book.mutex.Lock()
	defer n.book.mutex.Unlock()
	n.book.known[n.name]--
	n.book.deaths = append(n.book.deaths, note{time.Now(), n.name, x.Name})
}
func (n *node) NotifyUpdate(*memberlist.Node) {}

// memberlist tells of a suspicion in its log alone.
type suspicionLog struct {
	by   string
	book *journal
}

func (s *suspicionLog) Write(line []byte) (int, error) {
	text := string(line)
	if from := strings.Index(text, "Suspect "); from >= 0 {
		if to := strings.Index(text, " has failed"); to > from {
			s.book.mutex.Lock()
			s.book.suspicions = append(s.book.suspicions, note{time.Now(), s.by, text[from+len("Suspect ") : to]})
			s.book.mutex.Unlock()
		}
	}
	return len(line), nil
}

func newNode(i int, book *journal) (*node, error) {
	n := &node{name: fmt.Sprintf("n%04d", i), book: book}
	quiet := log.New(io.Discard, "", 0)
	inner, err := memberlist.NewNetTransport(&memberlist.NetTransportConfig{BindAddrs: []string{"127.0.0.1"}, Logger: quiet})
	if err != nil {
		return nil, err
	}
	n.transport = &faulty{inner: inner, side: int32(i % 2)}
	port := inner.GetAutoBindPort()
	transportsMutex.Lock()
	transports[fmt.Sprintf("127.0.0.1:%d", port)] = n.transport
	transportsMutex.Unlock()
	config := memberlist.DefaultLANConfig()
	config.Name = n.name
	config.BindAddr, config.BindPort = "127.0.0.1", port
	config.AdvertiseAddr, config.AdvertisePort = "127.0.0.1", port
	config.Transport = n.transport
	config.Events = n
	config.EnableCompression = *compression
	config.Logger = log.New(&suspicionLog{n.name, book}, "", 0)
	n.list, err = memberlist.Create(config)
	return n, err
}

func cpu() time.Duration {
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func residentKiB() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, resident float64
	fmt.Sscan(string(text), &size, &resident)
	return resident * float64(os.Getpagesize()) / 1024
}

type row map[string]interface{}

// p: 0 to 1; of few values the middle ones are the median.
func quantile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return -1
	}
	sorted := append([]float64(nil), values...)
	sort.Float64s(sorted)
	rank := int(p*float64(len(sorted)) + 0.999999)
	if rank < 1 {
		rank = 1
	}
	if rank > len(sorted) {
		rank = len(sorted)
	}
	return sorted[rank-1]
}
func spread(values []float64) row {
	return row{"p50": quantile(values, 0.5), "p95": quantile(values, 0.95), "worst": quantile(values, 1)}
}

func waitFor(limit time.Duration, done func() bool) bool {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if done() {
			return true
		}
	}
	return done()
}

// All join through the first, at once.
func start(count int, book *journal) ([]*node, row, error) {
	var nodes []*node
	for i := 0; i < count; i++ {
		n, err := newNode(i, book)
		if err != nil {
			return nil, nil, err
		}
		nodes = append(nodes, n)
	}
	contact := fmt.Sprintf("127.0.0.1:%d", nodes[0].transport.inner.GetAutoBindPort())
	began := time.Now()
	for _, n := range nodes[1:] {
		go func(n *node) {
			for try := 0; try < 100; try++ { // the first one refuses some of many: as a user would, they ask again
				if _, err := n.list.Join([]string{contact}); err == nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		}(n)
	}
	ok := waitFor(*joinLimit, func() bool {
		book.mutex.Lock()
		defer book.mutex.Unlock()
		return len(book.complete) == count
	})
	var each []float64
	book.mutex.Lock()
	for _, at := range book.complete {
		each = append(each, at.Sub(began).Seconds())
	}
	book.mutex.Unlock()
	return nodes, row{"complete": ok, "complete_nodes": len(each), "complete_s": spread(each)}, nil
}

func sent(nodes []*node) (datagrams, bytes float64) {
	for _, n := range nodes {
		datagrams += float64(atomic.LoadUint64(&n.transport.datagrams))
		bytes += float64(atomic.LoadUint64(&n.transport.bytes))
	}
	return
}

func measure(nodes []*node, out row) {
	datagrams, bytes := sent(nodes)
	used, began := cpu(), time.Now()
	time.Sleep(time.Duration(*seconds) * time.Second)
	share := float64(len(nodes)) * time.Since(began).Seconds()
	used = cpu() - used
	datagramsNow, bytesNow := sent(nodes)
	out["datagrams_per_node_second"] = (datagramsNow - datagrams) / share
	out["bytes_per_node_second"] = (bytesNow - bytes) / share
	out["cpu_ms_per_node_second"] = used.Seconds() * 1000 / share
	out["resident_kib"] = residentKiB()
}

func end(n *node) {
	n.dead = true
	if *silent {
		atomic.StoreInt32(&n.transport.mute, 1)
	} else {
		n.list.Shutdown()
	}
}

// How long until the first suspected one of `victims`, declared it dead, and until every survivor had all of them.
func watch(nodes []*node, book *journal, victims map[string]bool, limit time.Duration) (first, dead, all float64) {
	alive := 0
	for _, n := range nodes {
		if !n.dead {
			alive++
		}
	}
	began := time.Now()
	known := func() (int, time.Time) {
		book.mutex.Lock()
		defer book.mutex.Unlock()
		seen := map[string]bool{}
		last := began
		for _, d := range book.deaths {
			if victims[d.about] && !victims[d.by] && d.at.After(began) {
				seen[d.by+" "+d.about] = true
				last = d.at
			}
		}
		return len(seen), last
	}
	want := alive * len(victims)
	if waitFor(limit, func() bool { n, _ := known(); return n >= want }) {
		_, last := known()
		all = last.Sub(began).Seconds()
	} else {
		all = -1
	}
	book.mutex.Lock()
	defer book.mutex.Unlock()
	earliest := func(list []note) float64 {
		for _, e := range list {
			if victims[e.about] && !victims[e.by] && e.at.After(began) {
				return e.at.Sub(began).Seconds()
			}
		}
		return -1
	}
	return earliest(book.suspicions), earliest(book.deaths), all
}

func killOne(nodes []*node, book *journal, out row) {
	var firsts, deads, alls []float64
	for k := 0; k < *kills; k++ {
		victim := nodes[1+rand.Intn(len(nodes)-1)]
		for victim.dead {
			victim = nodes[1+rand.Intn(len(nodes)-1)]
		}
		time.Sleep(time.Duration(rand.Intn(1000)) * time.Millisecond)
		book.clear()
		end(victim)
		first, dead, all := watch(nodes, book, map[string]bool{victim.name: true}, time.Minute)
		firsts, deads, alls = append(firsts, first), append(deads, dead), append(alls, all)
		time.Sleep(3 * time.Second)
	}
	out["kills"] = *kills
	out["first_suspicion_s"], out["first_death_s"], out["all_know_s"] = spread(firsts), spread(deads), spread(alls)
	out["each_all_know_s"] = alls
}

func killQuarter(nodes []*node, book *journal, out row) {
	victims := map[string]bool{}
	book.clear()
	for _, i := range rand.Perm(len(nodes) - 1)[:len(nodes)/4] {
		end(nodes[1+i])
		victims[nodes[1+i].name] = true
	}
	first, dead, all := watch(nodes, book, victims, 2*time.Minute)
	out["killed"], out["first_suspicion_s"], out["first_death_s"], out["all_know_s"] = len(victims), first, dead, all
}

func endure(nodes []*node, book *journal, out row) {
	atomic.StoreUint64(&sky.loss, uint64(*loss*1e9))
	time.Sleep(5 * time.Second)
	book.clear()
	measure(nodes, out)
	out["perfect_streams"] = *perfect
	out["suspicions_per_minute"] = float64(book.count(&book.suspicions)) * 60 / float64(*seconds)
	book.mutex.Lock()
	about := map[string]bool{}
	for _, d := range book.deaths {
		about[d.about] = true
	}
	out["deaths"] = len(about)
	book.mutex.Unlock()
}

// Four nodes lose 80 % of what they send and are sent.
func ail(nodes []*node, book *journal, out row) {
	sick := map[string]bool{}
	for _, i := range rand.Perm(len(nodes) - 1)[:4] {
		atomic.StoreUint64(&nodes[1+i].transport.loss, 8e8)
		sick[nodes[1+i].name] = true
	}
	book.clear()
	measure(nodes, out)
	out["sick"] = len(sick)
	out["suspicions_per_minute"] = float64(book.count(&book.suspicions)) * 60 / float64(*seconds)
	book.mutex.Lock()
	defer book.mutex.Unlock()
	healthy, ill, again := 0, 0, 0
	seen := map[string]bool{}
	for _, d := range book.deaths {
		if !sick[d.about] {
			healthy++
			continue
		}
		ill++
		if seen[d.by+" "+d.about] {
			again++
		}
		seen[d.by+" "+d.about] = true
	}
	out["dead_healthy"], out["dead_sick"], out["dead_sick_again"] = healthy, ill, again
}

func heal(nodes []*node, book *journal, out row) {
	atomic.StoreInt32(&sky.split, 1)
	time.Sleep(time.Duration(*seconds) * time.Second)
	whole := func() bool {
		for _, n := range nodes {
			if n.list.NumMembers() != len(nodes) {
				return false
			}
		}
		return true
	}
	out["apart"] = !whole()
	atomic.StoreInt32(&sky.split, 0)
	began := time.Now()
	if waitFor(90*time.Second, whole) {
		out["healed_s"] = time.Since(began).Seconds()
	} else {
		out["healed_s"] = -1
	}
}

func main() {
	flag.Parse()
	rand.Seed(*seed)
	if *nodesFlag < 1 || *nodesFlag > 1000 {
		fmt.Fprintln(os.Stderr, "nodes: 1 to 1000")
		os.Exit(2)
	}
	book := &journal{complete: map[string]time.Time{}, known: map[string]int{}, nodes: *nodesFlag}
	nodes, join, err := start(*nodesFlag, book)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	out := row{"peer": "memberlist", "compression": *compression, "nodes": *nodesFlag, "scenario": *scenarioFlag,
		"silent": *silent, "seconds": *seconds, "join": join}
	time.Sleep(10 * time.Second) // what the joins left on its way
	runtime.GC()
	switch *scenarioFlag {
	case "steady":
		measure(nodes, out)
	case "kill":
		killOne(nodes, book, out)
	case "quarter":
		killQuarter(nodes, book, out)
	case "loss":
		out["loss"] = *loss
		endure(nodes, book, out)
	case "split":
		heal(nodes, book, out)
	case "sick":
		if len(nodes) < 8 {
			fmt.Fprintln(os.Stderr, "sick takes 8 nodes and more")
			os.Exit(2)
		}
		ail(nodes, book, out)
	default:
		fmt.Fprintln(os.Stderr, "unknown scenario")
		os.Exit(2)
	}
	line, _ := json.Marshal(out)
	fmt.Println(string(line))
}
