import type { Message } from '../../reach/checks/place.ts'

/** Policies that files written for others may name. */
export const UNSUPPORTED_POLICIES: readonly string[] = [
  'backendTunnel',
  'mcpGuardrails',
  'networkExtAuthz',
  'sessionAffinity',
]

export function unsupportedPolicy(key: string): Message {
  const hint = 'it would not be enforced, so it is rejected rather than ignored'
  return { code: 'PC0219', message: `policy \`${key}\` is not supported`, hint }
}

interface Foreign {
  readonly keys: readonly string[]
  /** A key that is known where these are meant. */
  readonly beside: string
  readonly hint: string
}

/** Credentials for backends that others make, and what of it is missing here. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  gcp: 'Google Cloud tokens are not supported yet',
  copilot: 'GitHub Copilot tokens are not supported yet',
  crossAppAccess: 'token exchange is not supported yet',
}

const FOREIGN: readonly Foreign[] = [
  {
    keys: ['finalTransformations'],
    beside: 'modelAliases',
    hint: 'it would have no effect, so it is rejected rather than ignored',
  },
  {
    keys: ['replace'],
    beside: 'metadata',
    hint: 'set and remove headers by name with `set` and `remove`',
  },
  ...Object.entries(CREDENTIALS).map(([key, missing]) => ({
    keys: [key],
    beside: 'passthrough',
    hint: `${missing}; use \`key\` to send a key, or \`passthrough\` to forward the client's credential`,
  })),
  {
    keys: ['aws', 'internal', 'invalid', 'routeGroup'],
    beside: 'hosts',
    hint: 'backends of this kind are not supported; `host` accepts any address',
  },
  {
    keys: ['database'],
    beside: 'level',
    hint: 'the access log can be written to standard output and, with `otlp`, to a collector',
  },
  {
    keys: ['database'],
    beside: 'sample',
    hint: 'the access log can be written to standard output and, with `otlp`, to a collector',
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
