import * as z from 'zod'
import type { Gateway } from '../../../model/gateway.ts'
import type { Route } from '../../../model/route.ts'
import type { TcpRoute } from '../../../model/tcp-route.ts'
import { issue, port } from '../../../policies/schema.ts'
import type { Placed } from '../../../reach/checks/draft.ts'
import { parseAt, type Reading } from '../reading.ts'
import type { SectionNode } from '../section-node.ts'
import { listenerSchema, readListener } from './gateways.ts'
import { routeShape } from './route-parts.ts'
import { type ReadRoute, readRoute, readTcpRoute, tcpRouteShape } from './routes.ts'

const tunnelProtocol = z
  .string()
  .check(({ value, issues }) => {
    if (value === 'direct') return
    const message = `unsupported tunnel protocol \`${value}\``
    const hint = 'to enable the PROXY protocol, use `frontendPolicies.proxyProtocol`'
    issues.push(issue(value, message, { rule: 'unsupported', hint }))
  })
  .optional()
  .describe(
    'Only `direct` is supported. For the PROXY protocol, use `frontendPolicies.proxyProtocol`.',
  )

const mode = z.enum(['standard']).optional().describe('Only `standard` is supported.')

const innerRoute = z.strictObject(routeShape).meta({ id: 'inner-route' })
const innerTcpRoute = z.strictObject(tcpRouteShape).meta({ id: 'inner-tcp-route' })

/** The older form, which groups everything by port. */
export const bindSchema = z.strictObject({
  port: port().describe('The port to listen on.'),
  tunnelProtocol,
  mode,
  listeners: z
    .array(
      listenerSchema.extend({
        namespace: z.string().optional().describe('Ignored in configuration files.'),
        routes: z.array(innerRoute).optional().describe('The HTTP routes of this listener.'),
        tcpRoutes: z.array(innerTcpRoute).optional().describe('The TCP routes of this listener.'),
      }),
    )
    .min(1)
    .max(64)
    .describe('The listeners on this port.'),
})

const bindHead = z.strictObject({ port: port(), tunnelProtocol, mode })
const anyList = z.array(z.unknown())

interface ReadBinds {
  readonly gateways: readonly Placed<Gateway>[]
  readonly routes: readonly ReadRoute<Route>[]
  readonly tcpRoutes: readonly ReadRoute<TcpRoute>[]
}

/** Reads `binds` as gateways, with routes attached to their listeners. */
export function readBinds(reading: Reading): ReadBinds {
  const gateways: Placed<Gateway>[] = []
  const routes: ReadRoute<Route>[] = []
  const tcpRoutes: ReadRoute<TcpRoute>[] = []
  for (const [index, node] of nodesOf(reading, reading.root.inner('binds')).entries()) {
    const { value, diagnostics } = parseAt(reading, bindHead, node, { except: ['listeners'] })
    const name = value === undefined ? `bind-${index}` : `bind-${value.port}`
    const listeners = nodesOf(reading, node.inner('listeners')).map((at, order) => {
      const further = ['namespace', 'routes', 'tcpRoutes']
      const around = { name, port: value?.port, diagnostics }
      const listener = readListener(reading, at, around, order, further)
      const parents = [{ gateway: name, listener: listener.name }]
      const named = (kind: string, number: number) => `${name}/${listener.name}/${kind}-${number}`
      nodesOf(reading, at.inner('routes')).forEach((route, number) => {
        routes.push(readRoute(reading, route, named('route', number), parents))
      })
      nodesOf(reading, at.inner('tcpRoutes')).forEach((route, number) => {
        tcpRoutes.push(readTcpRoute(reading, route, named('tcp-route', number), parents))
      })
      return listener
    })
    const { origin, place } = node
    gateways.push({ thing: { name, origin, listeners, policies: [] }, place })
  }
  return { gateways, routes, tcpRoutes }
}

/** The items of a list; empty if there is no list. */
function nodesOf(reading: Reading, node: SectionNode): readonly SectionNode[] {
  return Array.from({ length: lengthOf(reading, node) }, (_, index) => node.inner(index))
}

/** The length of a list; 0 if there is none. */
export function lengthOf(reading: Reading, node: SectionNode): number {
  if (node.value === undefined) return 0
  return parseAt(reading, anyList, node).value?.length ?? 0
}
