import { stringify } from 'yaml'

/*
 * The same work for each proxy: keep-alive on both sides, requests without `x-internal: true` are
 * denied, no access log, one worker.
 */

export interface Place {
  /** A folder for files that the proxy writes. */
  readonly folder: string
  readonly port: number
  readonly tlsPort: number
  readonly backend: number
  /** The same backend over HTTP/2, for gRPC. */
  readonly grpcBackend: number
  readonly certificate: string
  readonly key: string
}

/** The path prefix of gRPC calls. */
export const GRPC = '/bench.Echo/'
export const RULE_HEADER = 'x-internal: true'

/** For large bodies: by default nginx uses eight buffers of 4 KiB. */
const LARGE_BUFFERS = `
    proxy_buffers 16 64k;
    proxy_buffer_size 64k;
    proxy_busy_buffers_size 128k;
    client_body_buffer_size 64k;`

/** `isTuned` adds buffers for large bodies. */
export function nginxConfiguration(place: Place, isTuned = false): string {
  const { folder, port, tlsPort, backend, grpcBackend, certificate, key } = place
  return nginx(
    folder,
    `
  upstream backend { server 127.0.0.1:${backend}; keepalive 128; keepalive_requests 100000000; }
  upstream grpc { server 127.0.0.1:${grpcBackend}; keepalive 128; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    listen 127.0.0.1:${tlsPort} ssl http2;
    ssl_certificate ${certificate};
    ssl_certificate_key ${key};
    ssl_protocols TLSv1.3;
    client_max_body_size 0;${isTuned ? LARGE_BUFFERS : ''}
    location ${GRPC} {
      if ($http_x_internal != 'true') { return 403; }
      grpc_pass grpc://grpc;
    }
    location / {
      if ($http_x_internal != 'true') { return 403; }
      proxy_pass http://backend;
      proxy_http_version 1.1;
      proxy_set_header Connection '';
      proxy_set_header Host $host;
      proxy_request_buffering off;
    }
  }`,
  )
}

/** The backend of all proxies; its bodies are in `folder`/www. */
export function backendConfiguration(folder: string, port: number, grpcPort?: number): string {
  const grpc = `
  server {
    listen 127.0.0.1:${grpcPort} http2;
    root ${folder}/www;
    location / { error_page 405 =200 /message; return 405; }
    location = /message { default_type application/grpc; add_trailer grpc-status 0; }
  }`
  // nginx must read an upload to its end before it responds: proxying to itself without the body
  // makes it do so.
  return nginx(
    folder,
    `
  upstream self { server 127.0.0.1:${port}; keepalive 32; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    root ${folder}/www;
    location / { return 200 'ok'; }
    location /body/ { default_type application/octet-stream; }
    location /upload {
      client_max_body_size 0;
      client_body_buffer_size 2m;
      proxy_pass http://self/;
      proxy_http_version 1.1;
      proxy_method GET;
      proxy_pass_request_body off;
      proxy_set_header Content-Length '';
      proxy_set_header Connection '';
    }
  }${grpcPort === undefined ? '' : grpc}`,
  )
}

function nginx(folder: string, servers: string): string {
  return `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log crit;
events { worker_connections 8192; }
http {
  access_log off;
  sendfile on;
  tcp_nodelay on;
  server_tokens off;
  keepalive_timeout 600s;
  keepalive_requests 100000000;
  http2_max_concurrent_streams 1024;
  client_body_temp_path ${folder}/t1;
  proxy_temp_path ${folder}/t2;
  fastcgi_temp_path ${folder}/t3;
  uwsgi_temp_path ${folder}/t4;
  scgi_temp_path ${folder}/t5;
${servers}
}
`
}

export function haproxyConfiguration(place: Place, bundle: string): string {
  const { port, tlsPort, backend, grpcBackend } = place
  return `global
  nbthread 1
  tune.h2.max-concurrent-streams 1024
  maxconn 8192
  ssl-default-bind-options ssl-min-ver TLSv1.3
defaults
  mode http
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  timeout http-keep-alive 600s
  http-reuse always
frontend front
  bind 127.0.0.1:${port}
  bind 127.0.0.1:${tlsPort} ssl crt ${bundle} alpn h2,http/1.1
  acl is_internal req.hdr(x-internal) -m str true
  http-request deny unless is_internal
  use_backend grpc if { path_beg ${GRPC} }
  default_backend backend
backend backend
  server one 127.0.0.1:${backend}
backend grpc
  server one 127.0.0.1:${grpcBackend} proto h2
`
}

/** JSON, which Envoy accepts in place of YAML. */
export function envoyConfiguration(place: Place): string {
  const { port, tlsPort, backend, grpcBackend, certificate, key } = place
  const type = (name: string) => ({ '@type': `type.googleapis.com/envoy.${name}` })
  const address = (port_value: number) => ({
    socket_address: { address: '127.0.0.1', port_value },
  })
  const is_internal = { name: 'x-internal', string_match: { exact: 'true' } }
  const manager = {
    name: 'envoy.filters.network.http_connection_manager',
    typed_config: {
      ...type('extensions.filters.network.http_connection_manager.v3.HttpConnectionManager'),
      stat_prefix: 'front',
      route_config: {
        virtual_hosts: [
          {
            name: 'all',
            domains: ['*'],
            routes: [
              { match: { prefix: GRPC, headers: [is_internal] }, route: { cluster: 'grpc' } },
              { match: { prefix: '/', headers: [is_internal] }, route: { cluster: 'backend' } },
              { match: { prefix: '/' }, direct_response: { status: 403 } },
            ],
          },
        ],
      },
      http_filters: [
        {
          name: 'envoy.filters.http.router',
          typed_config: type('extensions.filters.http.router.v3.Router'),
        },
      ],
    },
  }
  const tls = {
    name: 'envoy.transport_sockets.tls',
    typed_config: {
      ...type('extensions.transport_sockets.tls.v3.DownstreamTlsContext'),
      common_tls_context: {
        alpn_protocols: ['h2', 'http/1.1'],
        tls_params: { tls_minimum_protocol_version: 'TLSv1_3' },
        tls_certificates: [
          { certificate_chain: { filename: certificate }, private_key: { filename: key } },
        ],
      },
    },
  }
  const listeners = [
    { name: 'plain', address: address(port), filter_chains: [{ filters: [manager] }] },
    {
      name: 'tls',
      address: address(tlsPort),
      filter_chains: [{ filters: [manager], transport_socket: tls }],
    },
  ]
  const cluster = (name: string, at: number) => ({
    name,
    type: 'STATIC',
    circuit_breakers: { thresholds: [{ max_connections: 8192, max_requests: 8192 }] },
    load_assignment: {
      cluster_name: name,
      endpoints: [{ lb_endpoints: [{ endpoint: { address: address(at) } }] }],
    },
  })
  const http2 = {
    'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
      ...type('extensions.upstreams.http.v3.HttpProtocolOptions'),
      explicit_http_config: { http2_protocol_options: {} },
    },
  }
  const clusters = [
    cluster('backend', backend),
    { ...cluster('grpc', grpcBackend), typed_extension_protocol_options: http2 },
  ]
  return JSON.stringify({ static_resources: { listeners, clusters } }, undefined, 2)
}

const RULE = { rules: [{ require: `request.headers['x-internal'] == 'true'` }] }

export interface OwnExtras {
  /** The readiness port; absent if readiness is not queried. */
  readonly readiness?: number
  /** Number of routes in addition to the one in use. */
  readonly routes?: number
  /** A path part of this many routes, so that they differ from those of another file. */
  readonly mark?: { readonly text: string; readonly routes: number }
  /** A path without a rule. */
  readonly open?: string
}

export function ownConfiguration(place: Place, extras: OwnExtras = {}): string {
  const { port, tlsPort, backend, grpcBackend, certificate, key } = place
  const { readiness, routes = 0, mark, open } = extras
  const backends = [{ backend: 'backend' }]
  const route = (name: string, gateways: readonly string[], pathPrefix: string) => ({
    name,
    gateways,
    matches: [{ path: { pathPrefix } }],
    policies: { authorization: RULE },
    backends,
  })
  const more = Array.from({ length: routes }, (_, n) => ({
    ...route(`route-${n}`, ['plain'], `/${n < (mark?.routes ?? 0) ? mark?.text : 'service'}-${n}`),
    hostnames: [`app-${n % 500}.example.com`],
  }))
  const opened =
    open === undefined ? [] : [{ ...route('open', ['plain'], open), policies: undefined }]
  const file = {
    config: {
      workers: 1,
      adminAddr: 'off',
      statsAddr: 'off',
      readinessAddr: readiness === undefined ? 'off' : `127.0.0.1:${readiness}`,
      logging: { level: 'warn' },
    },
    gateways: {
      plain: { port },
      secured: { port: tlsPort, tls: { cert: certificate, key, minVersion: 'TLS_V1_3' } },
    },
    frontendPolicies: {
      accessLog: { enabled: false },
      http: { http2MaxConcurrentStreams: 1_024 },
    },
    routes: [
      ...more,
      ...opened,
      { ...route('grpc', ['secured'], GRPC), backends: [{ backend: 'grpc' }] },
      route('all', ['plain', 'secured'], '/'),
    ],
    backends: [
      { name: 'backend', host: `127.0.0.1:${backend}` },
      {
        name: 'grpc',
        host: `127.0.0.1:${grpcBackend}`,
        policies: { http: { version: 'HTTP2' } },
      },
    ],
  }
  return stringify(file, { aliasDuplicateObjects: false })
}
