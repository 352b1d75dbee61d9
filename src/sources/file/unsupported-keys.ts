import type { Message } from '../../reach/checks/place.ts'

/** Policies that files written for others may name. */
export const UNSUPPORTED_POLICIES: readonly string[] = [
  'backendTunnel',
  'mcpGuardrails',
  'networkExtAuthz',
  'sessionAffinity',
]

export function unsupportedPolicy(key: string): Message {
  const hint = 'nothing would enforce it, so it is refused rather than ignored'
  return { code: 'PC0219', message: `the policy \`${key}\` is not supported`, hint }
}

interface Foreign {
  readonly keys: readonly string[]
  /** A key that is known where these are meant. */
  readonly beside: string
  readonly hint: string
}

/** Credentials for backends that others make, and what of it is missing here. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  gcp: 'tokens of Google Cloud are not fetched yet',
  copilot: 'tokens of GitHub Copilot are not fetched yet',
  crossAppAccess: 'tokens are not exchanged yet',
}

const FOREIGN: readonly Foreign[] = [
  {
    keys: ['finalTransformations'],
    beside: 'modelAliases',
    hint: 'nothing would do what it says, so it is rejected rather than ignored',
  },
  {
    keys: ['replace'],
    beside: 'metadata',
    hint: 'set and remove headers by name with `set` and `remove`',
  },
  ...Object.entries(CREDENTIALS).map(([key, missing]) => ({
    keys: [key],
    beside: 'passthrough',
    hint: `${missing}; send a key with \`key\`, or the credential of the client with \`passthrough\``,
  })),
  {
    keys: ['aws', 'internal', 'invalid', 'routeGroup'],
    beside: 'hosts',
    hint: 'no backend of this kind is served; `host` takes any address',
  },
  {
    keys: ['database'],
    beside: 'level',
    hint: 'the access log is written to the standard output, and to a collector with `otlp`',
  },
  {
    keys: ['database'],
    beside: 'sample',
    hint: 'the access log is written to the standard output, and to a collector with `otlp`',
  },
]

/** A key of files written for others, in a place that has the known ones; undefined: it is none. */
export function foreignKey(key: string, known: readonly string[]): Message | undefined {
  // Policies that stand right beside `port`, or below `policies`.
  if (UNSUPPORTED_POLICIES.includes(key) && known.includes('authorization')) {
    return unsupportedPolicy(key)
  }
  const found = FOREIGN.find(({ keys, beside }) => keys.includes(key) && known.includes(beside))
  if (found === undefined) return undefined
  return { code: 'PC0219', message: `\`${key}\` is not supported`, hint: found.hint }
}
