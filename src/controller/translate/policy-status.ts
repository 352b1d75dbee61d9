import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { renderStatus } from '../../diagnostics/render-status.ts'
import { hasErrors } from '../../diagnostics/result.ts'
import {
  type Condition,
  conditionOf,
  OK,
  type Rejection,
  reject,
  type StatusWithDiagnostics,
  type Verdict,
} from './conditions.ts'
import type { MissingTarget, PolicyRecord } from './policies.ts'
import type { ReachedGateway } from './reached.ts'
import { complaint, gatewayRef, identityOf, titleOf } from './view.ts'

/** The max number in the definition of ProxyPolicy. */
const MAX_ANCESTORS = 16

/**
 * The status of a ProxyPolicy: for each Gateway that it reaches or, without any, for its target.
 * `areGatewaysHere`: whether there is any Gateway; manifests may be without.
 */
export function policyStatus(
  record: PolicyRecord,
  gateways: readonly ReachedGateway[],
  areGatewaysHere: boolean,
): StatusWithDiagnostics {
  const { read, missing } = record
  const identity = identityOf(read)
  const notFound = missing.map(({ field, message, hint }) =>
    complaint(read, field, 'PC0707', message, hint),
  )
  const absence = firstOf(missing)
  if (gateways.length === 0) {
    const pending = reject('Pending', 'its target is not attached to any Gateway')
    const conditions = [acceptance(record, undefined), conditionOf('Attached', absence ?? pending)]
    const ancestors = [{ ref: targetRef(record), conditions }]
    const unattached: Diagnostic = {
      ...complaint(read, 'spec', 'PC0707', pending.message),
      severity: areGatewaysHere ? 'warning' : 'info',
    }
    const isPending = absence === undefined && record.diagnostics.size === 0
    const diagnostics = isPending ? [unattached] : notFound
    return { status: { ...identity, ancestors, isClaim: true }, diagnostics }
  }
  const left = gateways.length - MAX_ANCESTORS
  const ancestors = gateways.slice(0, MAX_ANCESTORS).map((at, index) => {
    const isLast = index === MAX_ANCESTORS - 1 && left > 0
    const further = isLast ? `and ${left} more Gateways` : ''
    const attached: Verdict =
      absence === undefined
        ? OK
        : reject(
            'PartiallyAttached',
            [`not guarded: ${absence.message}`, ...(isLast ? [further] : [])].join('; '),
          )
    return {
      ref: gatewayRef(at.gateway),
      conditions: [
        acceptance(record, at),
        conditionOf('Attached', attached, 'Attached', further),
        ...overridden(at),
      ],
    }
  })
  const diagnostics = [
    ...notFound,
    ...gateways.flatMap((at) =>
      at.overridden.map(
        (text): Diagnostic => ({
          ...complaint(read, 'spec', 'PC0708', `overridden: ${text}`),
          severity: 'warning',
        }),
      ),
    ),
  ]
  return { status: { ...identity, ancestors }, diagnostics }
}

/** What is missing, as one rejection. */
function firstOf(missing: readonly MissingTarget[]): Rejection | undefined {
  const [first] = missing
  const texts = missing.map(({ message, hint }) =>
    hint === undefined ? message : `${message} (${hint})`,
  )
  return first && reject(first.reason, texts.join('; '))
}

function acceptance(
  { read, diagnostics, missing }: PolicyRecord,
  at: ReachedGateway | undefined,
): Condition {
  const all = [...diagnostics, ...(at?.diagnostics ?? [])]
  const own = all.filter(({ severity }) => severity === 'error')
  const object = titleOf(read)
  const verdict: Verdict = hasErrors(own)
    ? reject('Invalid', renderStatus(own, { object }))
    : ((at === undefined ? firstOf(missing) : undefined) ?? OK)
  return conditionOf('Accepted', verdict)
}

function overridden({ overridden }: ReachedGateway): readonly Condition[] {
  if (overridden.length === 0) return []
  const message = `has no effect: ${overridden.join('; ')}, which is older`
  return [conditionOf('Overridden', OK, 'Overridden', message)]
}

function targetRef({ read }: PolicyRecord): Readonly<Record<string, unknown>> {
  const { targetRefs = [], targetSelectors = [] } = read.value.spec
  const [ref] = targetRefs
  if (ref !== undefined) {
    return { group: ref.group, kind: ref.kind, namespace: read.namespace, name: ref.name }
  }
  const kind = targetSelectors[0]?.kind ?? 'Gateway'
  return { group: targetSelectors[0]?.group ?? '', kind, namespace: read.namespace, name: 'none' }
}
