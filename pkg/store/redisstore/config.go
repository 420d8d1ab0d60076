package redisstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/internal/reread"
	"github.com/interlock-run/interlock/pkg/internal/tlsfiles"
	"github.com/interlock-run/interlock/pkg/store"
)

// Config says where and how a store is kept.
type Config struct {
	// URL of the server:
	//
	//	redis://[USER:PASSWORD@]HOST:PORT[/DB]
	//	redis+sentinel://[USER:PASSWORD@]SENTINEL:PORT,SENTINEL:PORT,.../MASTER[/DB]
	//
	// and rediss:// and so on for TLS. The port is 6379 unless given, 26379 for
	// a sentinel.
	URL string
	// Username and PasswordFile replace USER:PASSWORD of the URL. The file is read again
	// when it has changed, at the next connection.
	Username, PasswordFile string
	// CA, Cert and Key are PEM files for a server with TLS: the CA of its certificate, the
	// system's when empty, and the client's own pair, for a server that asks for one.
	// They are read again like the password.
	CA, Cert, Key string
	// Prefix of all keys, "il" unless given. It may not contain braces.
	Prefix string
	// Shards of a new store, store.DefaultShards unless given. They are recorded in Redis
	// at the first open, and the record wins.
	Shards int
	// AllowLossy opens a server that can lose acknowledged commits, with a
	// warning, where Open would refuse.
	AllowLossy bool
	// ContinueAfterRollback uses a store that has gone back in time, with an error in
	// the log, where it would wait for AcceptRollback.
	ContinueAfterRollback bool
	// Wait is how many replicas must have a write before it is acknowledged; writes that
	// they do not confirm in time give store.ErrUncertain. With 0, a failover may lose
	// acknowledged writes.
	Wait int
	// Flights is how many coalesced commits are under way at once to a single
	// server, 2 unless given.
	Flights int
	// Clock replaces the server's, for tests. Expired keys are then never removed from
	// Redis.
	Clock func() time.Time
	// Logger gets the warnings; slog.Default() unless given.
	Logger *slog.Logger
	// Measure is notified of each flight: how many commits it carries, and how many wait
	// for the next one. It must be quick; nil if there is none.
	Measure func(commits, waiting int)
	// Program is the version of the program, which a store records that it makes or raises.
	Program string

	// formats and steps are those of this program, outside of tests.
	formats store.Formats
	steps   []step
}

// ACL has the rights that a user of Redis needs besides the keys with the prefix, as a
// user's rules of an ACL file have it.
const ACL = "-@all +ping +select +info +config|get +acl|dryrun +time" +
	" +eval +evalsha +eval_ro +evalsha_ro +wait +exists +del +get +set +pexpire" +
	" +hget +hmget +hgetall +hset +hsetnx +hincrby +hdel" +
	" +llen +lindex +lrange +lset +ltrim +rpush" +
	" +zadd +zrem +zcard +zcount +zmscore +zrange +zrangebylex +zrevrangebylex +zrangebyscore" +
	" +xadd +xrange +xrevrange +xread +xtrim"

// OperatorACL has the rights that the user of an operator's commands needs: backups need
// more.
const OperatorACL = ACL + " +scan +hscan +hlen +hkeys +hrandfield +pttl +unlink" +
	" +xlen +xdel +xinfo|stream +script|load"

// The limits of requests to one server.
const (
	dialTimeout = 5 * time.Second
	ioTimeout   = 10 * time.Second
	readRetries = 2
	// WaitTimeout is how long replicas have to confirm a write.
	WaitTimeout = 2 * time.Second
)

// fill puts the defaults in.
func (c *Config) fill() error {
	if c.Prefix == "" {
		c.Prefix = "il"
	}
	if strings.ContainsAny(c.Prefix, "{}") {
		return fmt.Errorf("redisstore: the prefix %q contains braces, which mark the shard", c.Prefix)
	}
	if c.Shards == 0 {
		c.Shards = store.DefaultShards
	}
	if c.Shards < 1 || c.Shards > maxShards {
		return fmt.Errorf("redisstore: %d shards; a store has 1 to %d", c.Shards, maxShards)
	}
	if c.Flights == 0 {
		c.Flights = 2
	}
	if c.Flights < 0 {
		return fmt.Errorf("redisstore: %d flights; at least 1 is needed", c.Flights)
	}
	if c.Wait < 0 {
		return fmt.Errorf("redisstore: wait for %d replicas; 0 is for none", c.Wait)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Measure == nil {
		c.Measure = func(int, int) {}
	}
	if c.formats == (store.Formats{}) {
		c.formats, c.steps = store.KnownFormats(), steps
	}
	return nil
}

// maxShards keeps the cost of listing, which asks all shards, within bounds.
const maxShards = 4096

// options returns the client's options.
func (c *Config) options() (options *redis.UniversalOptions, err error) {
	u, hosts, err := parseURL(c.URL)
	if err != nil {
		return nil, err
	}
	scheme, secure := u.Scheme, false
	if rest, found := strings.CutPrefix(scheme, "rediss"); found {
		scheme, secure = "redis"+rest, true
	}
	if u.RawQuery != "" {
		return nil, errors.New("redisstore: the URL takes no parameters")
	}
	path := strings.Split(strings.Trim(u.Path, "/"), "/")
	options = &redis.UniversalOptions{}
	port := "6379"
	switch scheme {
	case "redis":
		options.DB, err = database(path)
	case "redis+cluster":
		err = errCluster
	case "redis+sentinel":
		port = "26379"
		if options.MasterName = path[0]; path[0] == "" {
			err = errors.New("redisstore: the URL lacks the master's name: redis+sentinel://SENTINEL:PORT/MASTER")
		} else {
			options.DB, err = database(path[1:])
		}
	default:
		err = fmt.Errorf("redisstore: unknown scheme %q; it should be redis, redis+sentinel, or rediss", u.Scheme)
	}
	if err != nil {
		return nil, err
	}
	options.Addrs, err = addresses(hosts, port)
	if err != nil {
		return nil, err
	}
	if scheme == "redis" && len(options.Addrs) != 1 {
		return nil, errors.New("redisstore: redis:// takes one address; use redis+sentinel:// for several")
	}
	options.Username = u.User.Username()
	options.Password, _ = u.User.Password()
	if err := c.secure(options, secure); err != nil {
		return nil, err
	}
	if err := c.identify(options); err != nil {
		return nil, err
	}
	settings(options)
	return options, nil
}

// secure puts TLS into the options. The name that a certificate must have is that of each
// address.
func (c *Config) secure(options *redis.UniversalOptions, secure bool) error {
	files := tlsfiles.Client{CA: c.CA, Cert: c.Cert, Key: c.Key}
	if !secure {
		if files != (tlsfiles.Client{}) {
			return errors.New("redisstore: certificates are for a URL with TLS: write rediss:// instead of redis://")
		}
		return nil
	}
	settings, err := files.Follow()
	if err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	options.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}, Config: settings.Get()}
		return dialer.DialContext(ctx, network, address)
	}
	return nil
}

const keepAlive = 5 * time.Minute

// identify puts the user and the password into the options.
func (c *Config) identify(options *redis.UniversalOptions) error {
	if c.Username == "" && c.PasswordFile == "" {
		return nil
	}
	if options.Username != "" || options.Password != "" {
		return errors.New("redisstore: the URL has a user or a password, and there is also a user or a file of a password; give one of them")
	}
	options.Username = c.Username
	if c.PasswordFile == "" {
		return nil
	}
	password, err := reread.Load("password of Redis", 0, func() (string, error) { return auth.ReadPassword(c.PasswordFile) }, c.PasswordFile)
	if err != nil {
		return fmt.Errorf("redisstore: %w", err)
	}
	options.CredentialsProvider = func() (string, string) { return c.Username, password.Get() }
	return nil
}

func settings(o *redis.UniversalOptions) {
	o.Protocol = 2 // no push messages to look for before each command
	o.DisableIdentity = true
	o.ContextTimeoutEnabled = true
	o.MaxRetries = readRetries // of reads: a commit is never repeated, see once
	o.DialTimeout, o.DialerRetries = dialTimeout, 1
	o.ReadTimeout, o.WriteTimeout = ioTimeout, ioTimeout
	o.PoolSize = max(32, 8*runtime.GOMAXPROCS(0))
	o.PoolTimeout = ioTimeout
}

// connect makes a client. It does not reach for the server yet.
func connect(options *redis.UniversalOptions) *redis.Client {
	if options.MasterName != "" {
		return redis.NewFailoverClient(options.Failover())
	}
	return redis.NewClient(options.Simple())
}

// errCluster refuses a Redis Cluster: a commit may be of any keys, and a Cluster runs no script over several slots.
var errCluster = errors.New("redisstore: a Redis Cluster is refused: the store needs one Redis, with Sentinel for its failover; " +
	"name a Redis that is not in cluster mode; where one is too small, split the tenants over several deployments, see docs/scaling.md")

// refuseCluster refuses a server in cluster mode.
func refuseCluster(ctx context.Context, db *redis.Client) error {
	info, err := db.Info(ctx, "cluster").Result()
	switch {
	case err != nil:
		return readError(ctx, "open", err)
	case strings.Contains(info, "cluster_enabled:1"):
		return errCluster
	}
	return nil
}

// parseURL reads a URL, and its list of hosts apart, which URLs in general do not
// have.
func parseURL(text string) (u *url.URL, hosts string, err error) {
	scheme, rest, _ := strings.Cut(text, "://")
	authority, path, _ := strings.Cut(rest, "/")
	user, hosts := "", authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, hosts = authority[:i+1], authority[i+1:]
	}
	if u, err = url.Parse(scheme + "://" + user + "host/" + path); err != nil {
		// The URL may hold a password: the error must not show it.
		return nil, "", errors.New("redisstore: the URL cannot be read; it should be like redis://HOST:PORT/DB")
	}
	return u, hosts, nil
}

// database reads the number of a database from the rest of a path.
func database(path []string) (int, error) {
	if len(path) == 0 || len(path) == 1 && path[0] == "" {
		return 0, nil
	}
	db, err := strconv.Atoi(path[0])
	if len(path) > 1 || err != nil || db < 0 {
		return 0, fmt.Errorf("redisstore: the database %q is not a number", strings.Join(path, "/"))
	}
	return db, nil
}

// addresses reads a list of hosts with or without ports.
func addresses(hosts, port string) ([]string, error) {
	var addrs []string
	for host := range strings.SplitSeq(hosts, ",") {
		if host == "" {
			return nil, errors.New("redisstore: the URL lacks a host")
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), port)
		}
		addrs = append(addrs, host)
	}
	return addrs, nil
}
