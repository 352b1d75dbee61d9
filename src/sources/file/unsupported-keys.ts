import type { Message } from '../../reach/checks/place.ts'

/** Policies that files written for other gateways may have. */
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
  /** A known key in the mappings where these keys occur. */
  readonly beside: string
  readonly hint: string
}

/** Backend credentials of other gateways, and why they are not supported. */
const CREDENTIALS: Readonly<Record<string, string>> = {
  gcp: 'Google Cloud tokens are not supported yet',
  copilot: 'GitHub Copilot tokens are not supported yet',
  crossAppAccess: 'token exchange is not supported yet',
}

const LITELLM = ['model_list', 'litellm_settings', 'general_settings', 'router_settings']

const FOREIGN: readonly Foreign[] = [
  {
    keys: LITELLM,
    beside: 'routeGroups',
    hint: 'this is a file of LiteLLM; docs/migrate/litellm.md shows what to write instead',
  },
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

/** The message for a key of other gateways, next to the known keys; undefined for other keys. */
export function foreignKey(key: string, known: readonly string[]): Message | undefined {
  // Policies are set next to `port`, or below `policies`.
  if (UNSUPPORTED_POLICIES.includes(key) && known.includes('authorization')) {
    return unsupportedPolicy(key)
  }
  const found = FOREIGN.find(({ keys, beside }) => keys.includes(key) && known.includes(beside))
  if (found === undefined) return undefined
  return { code: 'PC0219', message: `\`${key}\` is not supported`, hint: found.hint }
}
