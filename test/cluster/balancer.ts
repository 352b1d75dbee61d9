import { Cluster } from './harness.ts'

/** Gives every Service of type LoadBalancer an address; kube-proxy does the rest. */

interface Service {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string }
  readonly spec: { readonly type: string; readonly loadBalancerIP?: string }
  readonly status?: {
    readonly loadBalancer?: { readonly ingress?: readonly { readonly ip: string }[] }
  }
}

const [kubeconfig = '', prefix = ''] = process.argv.slice(2)
const cluster = new Cluster(kubeconfig, {})

async function assign(): Promise<void> {
  const { body } = await cluster.ask('GET', '/api/v1/services')
  const services = (body['items'] ?? []) as readonly Service[]
  const addressOf = ({ status }: Service) => status?.loadBalancer?.ingress?.[0]?.ip
  const used = new Set(services.map(addressOf))
  for (const service of services) {
    if (service.spec.type !== 'LoadBalancer') continue
    const [known, asked = ''] = [addressOf(service), service.spec.loadBalancerIP]
    if (known !== undefined && (asked === '' || asked === known)) continue
    // A Service that requests an address gets that one, or none.
    const free = Array.from({ length: 240 }, (_, index) => `${prefix}.${index + 10}`)
    const wanted = asked === '' ? free : [asked]
    const ip = wanted.find((one) => one.startsWith(`${prefix}.`) && !used.has(one))
    if (ip === known) continue
    used.add(ip)
    const { name, namespace } = service.metadata
    const ingress = ip === undefined ? [] : [{ ip, ipMode: 'VIP' }]
    const status = { loadBalancer: { ingress } }
    const path = `/api/v1/namespaces/${namespace}/services/${name}/status`
    const { status: code } = await cluster.ask('PUT', path, {
      ...service,
      apiVersion: 'v1',
      kind: 'Service',
      status,
    })
    console.log(`${namespace}/${name}: ${ip} (${code})`)
  }
}

for (;;) {
  await assign().catch((error: Error) => console.error(error.message))
  await new Promise((resolve) => setTimeout(resolve, 250))
}
