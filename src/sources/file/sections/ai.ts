import * as z from 'zod'
import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import type { AiGroup, AiProvider } from '../../../model/backend.ts'
import type { JsonObject } from '../../../model/json.ts'
import { name, oneOfKeys } from '../../../policies/schema.ts'
import { originOf, type Path, valueAt } from '../document.ts'
import { policiesSchema, readPolicies } from '../policies.ts'
import { parseAt, type Reading } from '../reading.ts'

const model = z.string().min(1).max(256).optional().describe('The model, whatever was asked for.')
const text = (what: string) => z.string().min(1).max(1024).describe(what)
const options = (shape: z.ZodRawShape = {}) => z.strictObject({ model, ...shape }).optional()

/** The providers and what each must be told. */
const providers = {
  openAI: options().describe('OpenAI, and what speaks its language.'),
  anthropic: options().describe('Anthropic.'),
  gemini: options().describe('Google Gemini.'),
  vertex: options({
    projectId: text('The project.'),
    region: text('The region.').optional(),
  }).describe('Google Vertex AI.'),
  bedrock: options({
    region: text('The region.'),
    guardrailIdentifier: text('A guardrail.').optional(),
    guardrailVersion: text('Its version.').optional(),
  }).describe('Amazon Bedrock.'),
  azure: options({
    resourceName: text('The resource.'),
    resourceType: text('Its type.').optional(),
    apiVersion: text('The version of the API.').optional(),
    projectName: text('The project.').optional(),
  }).describe('Azure OpenAI and Foundry.'),
  copilot: options().describe('GitHub Copilot.'),
  custom: options({
    providerOverride: text('What metrics call it.').optional(),
    formats: z
      .array(z.strictObject({ type: text('The format.'), path: text('Its path.').optional() }))
      .min(1)
      .max(16)
      .describe('The formats that it speaks.'),
  }).describe('Any other endpoint.'),
}

const KINDS = Object.keys(providers)

const head = {
  name: name().describe('What metrics and rules call it.'),
  provider: oneOfKeys(z.strictObject(providers), KINDS).describe('Whom to ask; one of these.'),
  hostOverride: text('host:port to use instead.').optional(),
  pathOverride: text('The path to use instead.').optional(),
  pathPrefix: text('What goes before the path.').optional(),
  tokenize: z.boolean().prefault(false).describe('Counts tokens before the request is sent.'),
}

const providerSchema = z
  .strictObject({
    ...head,
    policies: policiesSchema(['backend'], 'provider')
      .optional()
      .describe('Policies for what is sent to this provider.'),
  })
  .meta({ id: 'ai-provider' })

const group = z.strictObject({
  providers: z.array(providerSchema).min(1).max(16).describe('They share the load.'),
})

export const aiSchema = z
  .union([
    providerSchema,
    z.strictObject({
      groups: z
        .array(group)
        .min(1)
        .max(8)
        .describe('The next group serves when one before cannot.'),
    }),
  ])
  .meta({ id: 'ai-backend' })

const providerHead = z.strictObject(head)
const groupOutline = z.strictObject({ providers: z.array(z.unknown()).min(1).max(16) })
const groupsOutline = z.strictObject({ groups: z.array(groupOutline).min(1).max(8) })

type ReadAi =
  | { readonly kind: 'ai'; readonly groups: readonly AiGroup[] }
  | { readonly diagnostics: readonly Diagnostic[] }

/** `ai:` of a backend: one provider, or groups. */
export function readAi(reading: Reading, path: Path, backend: string): ReadAi {
  const isGrouped = valueAt(reading.document, [...path, 'groups']) !== undefined
  const problems: Diagnostic[] = []
  const readProvider = (at: Path): readonly AiProvider[] => {
    const { value, diagnostics } = parseAt(reading, providerHead, at, {
      stage: 'backend',
      except: ['policies'],
    })
    problems.push(...diagnostics)
    if (value === undefined) return []
    const { name, provider, ...rest } = value
    const kind = KINDS.find((kind) => provider[kind as keyof typeof provider] !== undefined) ?? ''
    const policies = readPolicies(reading, [...at, 'policies'], {
      sections: ['backend'],
      level: 'provider',
      policy: `provider:${backend}/${name}`,
    })
    const own = provider[kind as keyof typeof provider] as JsonObject
    const options = { ...own, ...rest } as JsonObject
    return [{ name, origin: originOf(reading.document, at), provider: kind, options, policies }]
  }
  if (!isGrouped) {
    const groups = [{ providers: readProvider(path) }]
    return problems.length > 0 ? { diagnostics: problems } : { kind: 'ai', groups }
  }
  const outline = parseAt(reading, groupsOutline, path)
  const groups = (outline.value?.groups ?? []).map(({ providers }, group) => ({
    providers: providers.flatMap((_, index) =>
      readProvider([...path, 'groups', group, 'providers', index]),
    ),
  }))
  problems.push(...outline.diagnostics)
  return problems.length > 0 ? { diagnostics: problems } : { kind: 'ai', groups }
}
