import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { type Cluster, eventually } from '../../test/cluster/harness.ts'
import { findEnvoy } from '../proxy/find.ts'
import { hasCondition, type Plane } from './plane.ts'

const MODULE = 'github.com/envoyproxy/gateway'
const VERSION = 'v1.9.1'
const CACHE = join(import.meta.dirname, '../../.cache/envoy-gateway')
const PROGRAM = join(CACHE, 'envoy-gateway')
/** Envoy Gateway hard-codes the port and the certificate folder. */
const XDS_PORT = 18_000
const CERTIFICATES = '/certs'
const SYSTEM = 'envoy-gateway-system'
const API = 'gateway.envoyproxy.io/v1alpha1'
const CONTROLLER = 'gateway.envoyproxy.io/gatewayclass-controller'

/** Builds Envoy Gateway; returns the reason if it cannot be measured here. */
export function prepareEnvoyGateway(): string | undefined {
  const envoy = findEnvoy()
  if (typeof envoy === 'string') return envoy
  if (spawnSync('unshare', ['--mount', 'true']).status !== 0)
    return 'its certificates are in /certs, and a place for them needs root'
  if (existsSync(PROGRAM)) return undefined
  mkdirSync(CACHE, { recursive: true })
  writeFileSync(join(CACHE, 'go.mod'), 'module built\n\ngo 1.26\n')
  const command = `${MODULE}/cmd/envoy-gateway`
  for (const args of [
    ['get', `${command}@${VERSION}`],
    ['build', '-o', PROGRAM, command],
  ]) {
    const { status, stderr, error } = spawnSync('go', args, { cwd: CACHE, encoding: 'utf8' })
    const problem = error?.message ?? stderr.trim().split('\n').at(-1)
    if (status !== 0) return `it cannot be built: ${problem}`
  }
  return undefined
}

/** Starts Envoy Gateway against an API server, with an Envoy for the Gateway `edge`. */
export async function startEnvoyGateway(
  cluster: Cluster,
  folder: string,
  port: number,
): Promise<Plane> {
  const { stdout } = spawnSync('go', ['list', '-m', '-f', '{{.Dir}}', MODULE], {
    cwd: CACHE,
    encoding: 'utf8',
  })
  const definitions = join(stdout.trim(), 'charts/gateway-helm/charts/crds/crds/generated')
  for (const file of readdirSync(definitions))
    cluster.kubectl(['apply', '--server-side', '-f', join(definitions, file)])
  cluster.createNamespace(SYSTEM)
  const env = {
    ...process.env,
    KUBECONFIG: cluster.kubeconfig,
    ENVOY_GATEWAY_NAMESPACE: SYSTEM,
    KUBERNETES_CLUSTER_DOMAIN: 'cluster.local',
  }
  const made = spawnSync(PROGRAM, ['certgen', '--disable-topology-injector'], { env })
  if (made.status !== 0) throw new Error(`certgen: ${made.stdout}${made.stderr}`)
  const certificates = join(folder, 'certs')
  for (const name of ['envoy-gateway', 'envoy']) await keep(cluster, name, certificates)
  const file = join(folder, 'envoy-gateway.yaml')
  writeFileSync(file, stringify(configuration()))
  const place = join(folder, 'root')
  mkdirSync(place)
  const script = rootWith(place, join(certificates, 'envoy-gateway'))
  const run = `${script} exec chroot ${place} ${PROGRAM} server --config-path ${file}`
  const controller = spawn('unshare', ['--mount', 'sh', '-ec', run], { env, stdio: 'pipe' })
  let log = ''
  const note = (bytes: Buffer) => {
    log = (log + bytes).slice(-8_192)
  }
  for (const stream of [controller.stdout, controller.stderr]) stream.on('data', note)
  const classes = '/apis/gateway.networking.k8s.io/v1/gatewayclasses'
  await cluster.ask('POST', classes, {
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'GatewayClass',
    metadata: { name: 'envoy' },
    spec: { controllerName: CONTROLLER },
  })
  const accepted = async () => {
    const { body } = await cluster.ask('GET', `${classes}/envoy`)
    const { conditions = [] } = (body['status'] ?? {}) as {
      readonly conditions?: readonly { readonly type: string; readonly status: string }[]
    }
    return (
      conditions.some(({ type, status }) => type === 'Accepted' && status === 'True') || undefined
    )
  }
  await eventually(accepted, 'an accepted class', 60).catch((error) => {
    controller.kill('SIGKILL')
    throw new Error(`${error.message}: ${log}`)
  })
  const { program } = findEnvoy() as { readonly program: string }
  const bootstrap = join(folder, 'envoy.yaml')
  writeFileSync(bootstrap, stringify(bootstrapOf(join(certificates, 'envoy'))))
  const envoy = spawn(
    program,
    [
      '-c',
      bootstrap,
      '--service-cluster',
      'apps/edge',
      '--service-node',
      'edge-0',
      '--log-level',
      'error',
      '--base-id',
      String(process.pid % 4096),
    ],
    // Envoy opens its access log by the name /dev/stdout, so stdout must be a file.
    { stdio: ['ignore', openSync(join(folder, 'envoy.log'), 'a'), 'ignore'] },
  )
  return {
    gatewayClass: 'envoy',
    port,
    policies: `/apis/${API}/namespaces/apps/securitypolicies`,
    policyOf,
    isProgrammed: (policy) => hasCondition(policy, 'Accepted'),
    controller: controller.pid ?? 0,
    ready: () => Promise.resolve(),
    close: async () => {
      for (const child of [envoy, controller]) child.kill('SIGKILL')
    },
  }
}

/** Writes the files of a Secret as they would be mounted in a pod. */
async function keep(cluster: Cluster, name: string, folder: string): Promise<void> {
  const { body } = await cluster.ask('GET', `/api/v1/namespaces/${SYSTEM}/secrets/${name}`)
  const files = body['data'] as Readonly<Record<string, string>>
  mkdirSync(join(folder, name), { recursive: true })
  for (const [file, text] of Object.entries(files))
    writeFileSync(join(folder, name, file), Buffer.from(text, 'base64'))
}

/** Commands that build a root from this machine's folders plus the certificates. */
function rootWith(place: string, certificates: string): string {
  const all = readdirSync('/', { withFileTypes: true })
  const folders = all
    .filter((one) => one.isDirectory() && `/${one.name}` !== CERTIFICATES)
    .map(({ name }) => `mkdir ${place}/${name}; mount --rbind /${name} ${place}/${name};`)
  const links = all
    .filter((one) => one.isSymbolicLink())
    .map(({ name }) => `cp -P /${name} ${place}/;`)
  return [
    `mount -t tmpfs none ${place};`,
    ...folders,
    ...links,
    `mkdir ${place}${CERTIFICATES}; mount --bind ${certificates} ${place}${CERTIFICATES};`,
  ].join(' ')
}

function configuration(): object {
  return {
    apiVersion: API,
    kind: 'EnvoyGateway',
    gateway: { controllerName: CONTROLLER },
    logging: { level: { default: 'error' } },
    provider: {
      type: 'Kubernetes',
      kubernetes: {
        leaderElection: { disable: true },
        proxyTopologyInjector: { disable: true },
      },
    },
  }
}

/** The bootstrap that its own Deployment gives Envoy, with a control plane on this machine. */
function bootstrapOf(certificates: string): object {
  const file = (name: string) => ({ filename: join(certificates, name) })
  const type = (name: string) => `type.googleapis.com/envoy.extensions.${name}`
  const ads = { ads: {}, initial_fetch_timeout: '0s', resource_api_version: 'V3' }
  return {
    dynamic_resources: {
      ads_config: {
        api_type: 'DELTA_GRPC',
        transport_api_version: 'V3',
        grpc_services: [{ envoy_grpc: { cluster_name: 'xds_cluster' } }],
        set_node_on_first_message_only: true,
      },
      lds_config: ads,
      cds_config: ads,
    },
    static_resources: {
      clusters: [
        {
          name: 'xds_cluster',
          type: 'STATIC',
          connect_timeout: '10s',
          load_assignment: {
            cluster_name: 'xds_cluster',
            endpoints: [
              {
                lb_endpoints: [
                  {
                    endpoint: {
                      address: { socket_address: { address: '127.0.0.1', port_value: XDS_PORT } },
                    },
                  },
                ],
              },
            ],
          },
          typed_extension_protocol_options: {
            'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
              '@type': type('upstreams.http.v3.HttpProtocolOptions'),
              explicit_http_config: { http2_protocol_options: {} },
            },
          },
          transport_socket: {
            name: 'envoy.transport_sockets.tls',
            typed_config: {
              '@type': type('transport_sockets.tls.v3.UpstreamTlsContext'),
              common_tls_context: {
                tls_params: { tls_maximum_protocol_version: 'TLSv1_3' },
                tls_certificates: [
                  { certificate_chain: file('tls.crt'), private_key: file('tls.key') },
                ],
                validation_context: { trusted_ca: file('ca.crt') },
              },
            },
          },
        },
      ],
    },
  }
}

function policyOf(n: number, value: string) {
  return {
    apiVersion: API,
    kind: 'SecurityPolicy',
    metadata: { name: `p${n}` },
    spec: {
      targetRefs: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', name: `r${n}` }],
      authorization: {
        defaultAction: 'Deny',
        rules: [{ action: 'Allow', principal: { headers: [{ name: 'x-who', values: [value] }] } }],
      },
    },
  }
}
