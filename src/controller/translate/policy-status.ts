import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { renderStatus } from '../../diagnostics/render-status.ts'
import { hasErrors } from '../../diagnostics/result.ts'
import {
  type Condition,
  conditionOf,
  OK,
  reject,
  type StatusWithDiagnostics,
  type Verdict,
} from './conditions.ts'
import type { PolicyRecord } from './policies.ts'
import type { ReachedGateway } from './reached.ts'
import { complaint, gatewayRef, identityOf, titleOf } from './view.ts'

/** The max number in the definition of ProxyPolicy. */
const MAX_ANCESTORS = 16

/**
 * The status of a ProxyPolicy: for each Gateway that it reaches or, without any, for its target.
 */
export function policyStatus(
  record: PolicyRecord,
  gateways: readonly ReachedGateway[],
): StatusWithDiagnostics {
  const { read, missing } = record
  const identity = identityOf(read)
  if (gateways.length === 0) {
    const message =
      missing.length > 0 ? missing.join('; ') : 'its target is not attached to any Gateway'
    const conditions = [
      acceptance(record, undefined),
      conditionOf('Attached', reject('Pending', message)),
    ]
    const ancestors = [{ ref: targetRef(record), conditions }]
    const diagnostics = missing.map((text) => complaint(read, 'spec.targetRefs', 'PC0707', text))
    return { status: { ...identity, ancestors }, diagnostics }
  }
  const left = gateways.length - MAX_ANCESTORS
  const ancestors = gateways.slice(0, MAX_ANCESTORS).map((at, index) => {
    const isLast = index === MAX_ANCESTORS - 1 && left > 0
    const further = isLast ? `and ${left} more Gateways` : ''
    const message = [...missing, ...(further === '' ? [] : [further])].join('; ')
    return {
      ref: gatewayRef(at.gateway),
      conditions: [
        acceptance(record, at),
        conditionOf('Attached', OK, 'Attached', message),
        ...overridden(at),
      ],
    }
  })
  const diagnostics = [
    ...missing.map((text) => complaint(read, 'spec.targetRefs', 'PC0707', text)),
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

function acceptance(
  { read, diagnostics, missing }: PolicyRecord,
  at: ReachedGateway | undefined,
): Condition {
  const all = [...diagnostics, ...(at?.diagnostics ?? [])]
  const own = all.filter(({ severity }) => severity === 'error')
  const object = titleOf(read)
  const verdict: Verdict = hasErrors(own)
    ? reject('Invalid', renderStatus(own, { object }))
    : at === undefined && missing.length > 0
      ? reject('TargetNotFound', missing.join('; '))
      : OK
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
