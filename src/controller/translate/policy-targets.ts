import type * as z from 'zod'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { service } from '../resources/cluster-objects.ts'
import { gateway, listenerSet } from '../resources/gateway.ts'
import { inferencePool } from '../resources/inference.ts'
import { type ProxyPolicyObject, proxyBackend } from '../resources/proxy.ts'
import { grpcRoute, httpRoute, streamRoute } from '../resources/routes.ts'
import { sectionsOf } from './target-sections.ts'
import { type ClusterView, complaint, type Read } from './view.ts'

/** The possible targets of a policy. */
export const TARGET_SCHEMAS = {
  Gateway: gateway,
  ListenerSet: listenerSet,
  HTTPRoute: httpRoute,
  GRPCRoute: grpcRoute,
  TLSRoute: streamRoute,
  TCPRoute: streamRoute,
  Service: service,
  ProxyBackend: proxyBackend,
  InferencePool: inferencePool,
} as const satisfies Readonly<Record<string, z.ZodType>>

export type TargetKind = keyof typeof TARGET_SCHEMAS

const TRAFFIC_TARGETS: ReadonlySet<TargetKind> = new Set([
  'Gateway',
  'ListenerSet',
  'HTTPRoute',
  'GRPCRoute',
])

/** Why a target has no such part: what the policy should guard there is open. */
export function missingSection(
  view: ClusterView,
  kind: TargetKind,
  key: string,
  {
    sectionName,
    port,
  }: { readonly sectionName?: string | undefined; readonly port?: number | undefined },
): { readonly message: string; readonly hint?: string } | undefined {
  if (sectionName === undefined && port === undefined) return undefined
  const { names, ports } = sectionsOf(view, kind, key)
  if (sectionName !== undefined && !names.includes(sectionName)) {
    const message = `${kind} ${key} has no section \`${sectionName}\``
    return names.length === 0
      ? { message }
      : { message, hint: `available: ${names.map((name) => `\`${name}\``).join(', ')}` }
  }
  // Only Gateways have ports; for other targets the port itself is the mistake.
  if (port === undefined || kind !== 'Gateway' || ports.includes(port)) return undefined
  const hint = `available: ${[...new Set(ports)].join(', ')}`
  return { message: `no listener of Gateway ${key} has port ${port}`, hint }
}

/** Why a policy cannot apply to a target. The API server applies the same validation. */
export function targetProblem(
  read: Read<ProxyPolicyObject>,
  field: string,
  kind: TargetKind,
  {
    sectionName,
    port,
  }: { readonly sectionName?: string | undefined; readonly port?: number | undefined },
): Diagnostic | undefined {
  const { frontend, traffic, backend } = read.value.spec
  const reject = (message: string, hint: string) => complaint(read, field, 'PC0707', message, hint)
  if (frontend === undefined && traffic === undefined && backend === undefined) {
    return reject('the policy is empty', 'set `frontend`, `traffic` or `backend`')
  }
  if (frontend !== undefined && kind !== 'Gateway') {
    return reject(
      `\`frontend\` applies to connections and can target only Gateways, not a ${kind}`,
      'target the Gateway, or use `traffic`',
    )
  }
  if (frontend !== undefined && sectionName !== undefined) {
    return reject(
      '`frontend` applies to connections before a listener is selected',
      'set `port` instead of `sectionName`',
    )
  }
  if (traffic !== undefined && !TRAFFIC_TARGETS.has(kind)) {
    return reject(
      `\`traffic\` applies before a backend is selected and cannot target a ${kind}`,
      'use `backend`, or target the route to this backend',
    )
  }
  if (
    port !== undefined &&
    (kind !== 'Gateway' || traffic !== undefined || backend !== undefined)
  ) {
    return reject(
      '`port` of a target can be used only with `frontend`',
      'remove `port`, or split the policy',
    )
  }
  return undefined
}
