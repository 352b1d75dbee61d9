// The controller of bench/delivery.ts: a separate process that receives commands as messages.

import type { Model } from '../../src/model/model.ts'
import { Publications } from '../../src/xds/publications.ts'
import { serveXds } from '../../src/xds/server.ts'

export type Order =
  | { readonly kind: 'publish'; readonly model: Model }
  | { readonly kind: 'edit'; readonly index: number; readonly hostname: string }
  | { readonly kind: 'memory' }

export type Report =
  | { readonly kind: 'listening'; readonly port: number }
  /** CPU time of the publication in µs, and the time at which it was requested. */
  | { readonly kind: 'published'; readonly cpu: number; readonly at: number }
  | { readonly kind: 'memory'; readonly rss: number; readonly proxies: number }

const publications = new Publications()
const send = (report: Report) => process.send?.(report)
let model: Model | undefined

process.on('message', (order: Order) => {
  const at = performance.timeOrigin + performance.now()
  const before = process.cpuUsage()
  if (order.kind === 'memory') {
    globalThis.gc?.()
    const proxies = publications.proxies('a').filter(({ outcome }) => outcome !== undefined)
    send({ kind: 'memory', rss: process.memoryUsage().rss, proxies: proxies.length })
    return
  }
  if (order.kind === 'publish') model = order.model
  else if (model !== undefined) {
    const { index, hostname } = order
    const route = model.routes[index]
    if (route === undefined) return
    model = { ...model, routes: model.routes.with(index, { ...route, hostnames: [hostname] }) }
  }
  if (model !== undefined) publications.publish('a', model)
  const { user, system } = process.cpuUsage(before)
  send({ kind: 'published', cpu: user + system, at })
})

const { port } = await serveXds({
  mode: 'plaintext',
  host: '127.0.0.1',
  port: 0,
  publications,
  authenticate: async () => ({ gateway: 'a' }),
})
send({ kind: 'listening', port })
