import * as z from 'zod'
import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import { hasErrors } from '../../../diagnostics/result.ts'
import type { AiBackend, AiProvider, Endpoint } from '../../../model/backend.ts'
import type { JsonObject } from '../../../model/json.ts'
import { host, name, oneOfKeys } from '../../../policies/schema.ts'
import {
  PROVIDERS,
  type Provider,
  REJECTED_OF_PROVIDERS,
  WAITING_OF_PROVIDERS,
} from '../../../protocols/llm/schema.ts'
import { policiesSchema, readPolicies } from '../policies.ts'
import { complain, parseAt, type Reading } from '../reading.ts'
import type { SectionNode } from '../section-node.ts'

const text = (what: string) => z.string().min(1).max(1024).describe(what)

const KINDS = PROVIDERS.map((provider) => provider.name)
const kinds = z.strictObject(
  Object.fromEntries(PROVIDERS.map((provider) => [provider.name, provider.options])),
)

const head = {
  name: name().describe('The name of the provider in metrics and rules.'),
  provider: oneOfKeys(kinds, KINDS).describe('The provider to call. Set exactly one.'),
  hostOverride: host()
    .optional()
    .describe('The host:port or URL to call instead of the public host of the provider.'),
  pathOverride: text('The path of every call, instead of the default path of the provider.')
    .regex(/^\/[!-~]*$/)
    .optional(),
  pathPrefix: text('The base path of calls, instead of the default of the provider, such as `/v1`.')
    .regex(/^\/[!-~]*$/)
    .optional(),
  tokenize: z.boolean().prefault(false).describe('Count tokens before the request is sent.'),
}

const providerSchema = z
  .strictObject({
    ...head,
    policies: policiesSchema(['backend'], 'provider')
      .optional()
      .describe('Policies for requests to this provider.'),
  })
  .meta({ id: 'ai-provider' })

const group = z.strictObject({
  providers: z.array(providerSchema).min(1).max(16).describe('Providers that share the load.'),
})

const paths = z
  .array(
    z
      .string()
      .regex(/^\/[!-~]*$/)
      .max(1024),
  )
  .max(64)
  .optional()
  .describe(
    'Paths, including everything below them, that are allowed although rules cannot see which model they use.',
  )

export const aiSchema = z
  .union([
    providerSchema.extend({ allowEndpoints: paths }),
    z.strictObject({
      allowEndpoints: paths,
      groups: z
        .array(group)
        .min(1)
        .max(8)
        .describe(
          'Provider groups in order of priority. The next group is used when the previous ones are unavailable.',
        ),
    }),
  ])
  .meta({ id: 'ai-backend' })

const providerHead = z.strictObject(head)
const PROVIDER_KEYS = Object.keys(head)
const oneOutline = z.looseObject({ allowEndpoints: paths })
const groupOutline = z.strictObject({ providers: z.array(z.unknown()).min(1).max(16) })
const groupsOutline = z.strictObject({
  allowEndpoints: paths,
  groups: z.array(groupOutline).min(1).max(8),
})

type ReadAi =
  | ({ readonly kind: 'ai' } & Pick<AiBackend, 'groups' | 'allowEndpoints'>)
  | { readonly diagnostics: readonly Diagnostic[] }

/** Reads `ai` of a backend: one provider, or groups. */
export function readAi(reading: Reading, node: SectionNode, backend: string): ReadAi {
  const problems: Diagnostic[] = []
  const { nodes, ...rest } = outlineOf(reading, node, problems)
  const known = new Map<string, SectionNode>()
  const groups = nodes.map((own) => ({
    providers: own.flatMap((at) => {
      const provider = readProvider(reading, at, backend, problems)
      if (provider === undefined) return []
      if (known.has(provider.name)) problems.push(complainOfName(reading, at, provider.name))
      known.set(provider.name, at)
      return [provider]
    }),
  }))
  if (hasErrors(problems)) return { diagnostics: problems }
  return { kind: 'ai', groups, ...rest }
}

interface Outline extends Pick<AiBackend, 'allowEndpoints'> {
  /** The nodes of its providers, by group. */
  readonly nodes: readonly (readonly SectionNode[])[]
}

function outlineOf(reading: Reading, node: SectionNode, problems: Diagnostic[]): Outline {
  const isOne = node.inner('groups').value === undefined
  const at = isOne ? { except: [...PROVIDER_KEYS, 'policies'] } : {}
  const { value, diagnostics } = parseAt(reading, isOne ? oneOutline : groupsOutline, node, at)
  problems.push(...diagnostics)
  const allowed = value?.allowEndpoints
  const rest = allowed === undefined ? {} : { allowEndpoints: allowed }
  if (isOne) return { nodes: [[node]], ...rest }
  const groups = (value as z.output<typeof groupsOutline> | undefined)?.groups ?? []
  const nodes = groups.map(({ providers }, group) =>
    providers.map((_, index) => node.inner('groups', group, 'providers', index)),
  )
  return { nodes, ...rest }
}

function readProvider(
  reading: Reading,
  at: SectionNode,
  backend: string,
  problems: Diagnostic[],
): AiProvider | undefined {
  const { value, diagnostics } = parseAt(reading, providerHead, at, {
    stage: 'backend',
    except: ['policies', 'allowEndpoints'],
  })
  problems.push(...diagnostics)
  if (value === undefined) return undefined
  const { name, provider, hostOverride, ...rest } = value
  const kind = PROVIDERS.find((one) => provider[one.name] !== undefined) as Provider
  const own = provider[kind.name] as JsonObject
  problems.push(...reportUnread(reading, at, kind.name))
  const endpoint = endpointOf(reading, at, kind, own, hostOverride)
  if ('code' in endpoint) {
    problems.push(endpoint)
    return undefined
  }
  const policies = readPolicies(reading, at.inner('policies'), {
    sections: ['backend'],
    level: 'provider',
    policy: `provider:${backend}/${name}`,
  })
  const origin = at.origin
  const options = { ...own, ...rest } as JsonObject
  return { name, origin, provider: kind.name, endpoint, options, policies }
}

function endpointOf(
  reading: Reading,
  at: SectionNode,
  kind: Provider,
  options: JsonObject,
  override: z.output<typeof head.hostOverride>,
): Endpoint | Diagnostic {
  if (override?.kind === 'host') {
    const { kind: _, ...endpoint } = override
    return endpoint
  }
  if (override !== undefined) {
    return complain(reading, at.inner('hostOverride'), {
      code: 'PC0316',
      message: 'a provider must be a host, not a Unix socket',
      hint: 'write host:port or a URL',
    })
  }
  const host = kind.host(options)
  if (host !== undefined) return { host: host.toLowerCase(), port: 443, scheme: 'https' }
  return complain(reading, at.inner('provider', kind.name), {
    code: 'PC0316',
    message: `\`${kind.name}\` does not have enough settings to determine the address of this provider`,
    hint: 'set `hostOverride`',
  })
}

function reportUnread(reading: Reading, at: SectionNode, kind: string): readonly Diagnostic[] {
  const written = (key: string) =>
    [at.inner(key), at.inner('provider', kind, key)].filter(
      ({ value }) => value !== undefined && value !== false,
    )
  const rejected = REJECTED_OF_PROVIDERS.flatMap(written).map((node) => {
    const hint = 'it would not be sent to the provider, so it is rejected rather than ignored'
    const message = `\`${String(node.step)}\` is not supported for providers`
    return complain(reading, node, { code: 'PC0219', message, hint }, 'key')
  })
  for (const node of WAITING_OF_PROVIDERS.flatMap(written)) {
    const message = `\`${String(node.step)}\` is validated, but has no effect in this version`
    const hint = 'remove it'
    complain(reading, node, { code: 'PC0220', severity: 'warning', message, hint }, 'key')
  }
  return rejected
}

function complainOfName(reading: Reading, at: SectionNode, name: string): Diagnostic {
  return complain(reading, at.inner('name'), {
    code: 'PC0303',
    message: `another provider of this backend is already named \`${name}\``,
    hint: 'use a unique name for each',
  })
}
