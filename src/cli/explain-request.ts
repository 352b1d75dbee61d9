import type { Places } from '../diagnostics/places.ts'
import {
  type ExplainedRequest,
  explainSteps,
  type HypotheticalRequest,
  isDenied,
} from '../program/explain.ts'
import { clientCertificates } from '../program/explain-listener.ts'
import { recognize } from '../program/hypothetical-token.ts'
import type { Program } from '../program/program.ts'
import type { DecisionRecord } from '../telemetry/decision-record.ts'
import { chooseListener } from './choose-listener.ts'
import {
  type Explained,
  reportExplained,
  reportRejected,
  reportUncertified,
} from './explanation.ts'
import { hypotheticalFromRecord, readHypothetical, withBody } from './hypothetical-request.ts'
import { rejectionBy } from './verdicts.ts'
import { RequestReader } from './wire-request.ts'

export interface RequestToExplain {
  readonly hypothetical: HypotheticalRequest
  readonly body?: Uint8Array | undefined
  /** As given, perhaps with a scheme and a port. */
  readonly url?: string | undefined
  /** Its credentials were accepted at the time, even if the record does not show them. */
  readonly hasPassed: boolean
  /** Taken from a record, which may not contain the whole request. */
  readonly isRecorded: boolean
}

export interface ExplainWith {
  /** What the Program was compiled with: see `idleServices`. */
  readonly dice: { value: number }
  /** At once, or between requests. */
  readonly run: <T>(steps: Generator<void, T>) => Promise<T>
  /** Where the policies are written. */
  readonly places: Places
  /** How many rules of a stage are shown, in addition to the one that decides. */
  readonly maxRules?: number
}

/** Returns a message if there is nothing to explain. */
export async function explainWith(
  program: Program,
  { hypothetical: written, hasPassed, isRecorded, body, url }: RequestToExplain,
  { dice, run, places, maxRules = Infinity }: ExplainWith,
): Promise<Explained | string> {
  const reader = new RequestReader(program)
  const listener = chooseListener(program, reader, written, url)
  const read = readHypothetical(program, reader, { ...written, listener })
  if ('word' in read) return reportRejected(read)
  const hypothetical = body === undefined ? read : await withBody(program, reader, read, body)
  const explained = await run(explainSteps(program, hypothetical, dice))
  if (typeof explained === 'string') return explained
  const needed = certificatesAt(program, explained)
  const isMissing = needed === 'Require' && hypothetical.certificate === undefined
  const [connection] = explained.stages
  if (isMissing && !isRecorded && !(connection && isDenied(connection))) {
    return reportUncertified(explained)
  }
  const notes = [
    ...unseen(hypothetical, explained),
    ...(isMissing
      ? ['this listener requires a client certificate, but the record does not contain one']
      : []),
    ...(needed === undefined && hypothetical.certificate !== undefined
      ? [
          'this listener does not request client certificates: rules do not see the certificate that you passed',
        ]
      : []),
  ]
  if (hasPassed) return run(reportExplained(explained, { notes, maxRules, places }))
  const { authentications, unverified = [] } = explained
  const certain = authentications.filter((one) => !unverified.includes(one))
  const rejected = certain
    .map((policy) => rejectionBy(policy, hypothetical))
    .find((one) => one !== undefined)
  const [first] = unverified
  return run(reportExplained(explained, { notes, rejected, unverified: first, maxRules, places }))
}

function certificatesAt({ listeners }: Program, at: ExplainedRequest) {
  const serving = listeners.find(
    ({ gateway, listener }) => gateway === at.gateway && listener.name === at.listener,
  )
  return serving && clientCertificates(serving)
}

/** Rules see an identity only if an authentication policy sets it. */
function unseen(
  { identity }: HypotheticalRequest,
  { authentications }: ExplainedRequest,
): readonly string[] {
  const found = authentications.flatMap((policy) => recognize(policy, identity).variables)
  const unset = Object.keys(identity)
    .filter((variable) => !found.some((name) => name === variable))
    .map(
      (variable) => `no policy here sets ${variable}: rules do not see the value that you passed`,
    )
  const foreign = authentications.flatMap((policy) => {
    const { rejection } = recognize(policy, identity)
    if (rejection === undefined || rejectionBy(policy, { identity, headers: [] }) !== undefined)
      return []
    return [`${rejection} by ${policy.policy}, which is Permissive: rules do not see its claims`]
  })
  return [...unset, ...foreign]
}

interface RecordedRequest {
  readonly request: RequestToExplain
  /** What the record does not show. */
  readonly note: string | undefined
}

/** The request of a record; a message if the record does not have what decided it. */
export function requestIn(record: DecisionRecord): RecordedRequest | string {
  if (record.kind === 'csrf') {
    return '`csrf` rejected the request before any rule, based on headers that are not recorded'
  }
  const { hypothetical, hidden, body } = hypotheticalFromRecord(record)
  const hint =
    'they are treated as not set; add them to config.decisions.show to record their values'
  // Whether the credentials of a rejected request were accepted is in its identities.
  const hasPassed =
    record.kind === 'authorization' ||
    (record.kind === 'rejection' && (record.identified?.length ?? 0) > 0)
  return {
    request: { hypothetical, body, hasPassed, isRecorded: true },
    note: hidden.length === 0 ? undefined : `not in the record: ${hidden.join(', ')}: ${hint}`,
  }
}
