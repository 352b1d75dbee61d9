import * as z from 'zod'
import { areWhole, awsKeys } from '../aws-keys.ts'
import { azureCredential } from '../azure-identity.ts'
import { choice, duration, scalar } from '../scalars.ts'
import { keyCredential } from '../sent-key.ts'
import { issue } from '../shapes.ts'
import { type HostTarget, host, parseHost } from '../target.ts'

/* Guards that are services with an API of their own. */

export const failureMode = () =>
  choice('Deny', 'Allow', 'failClosed', 'failOpen')
    .prefault('Deny')
    .transform((mode): 'Deny' | 'Allow' =>
      mode === 'Allow' || mode === 'failOpen' ? 'Allow' : 'Deny',
    )
    .describe(
      'What happens when the service does not respond, or not as it should: `Deny` rejects the ' +
        'call with 503, `Allow` admits it. `failClosed` and `failOpen` mean the same.',
    )

const timeout = () => duration().prefault('5s').describe('How long to wait for a response.')

const policies = <T extends z.ZodType>(backendAuth: T) =>
  z.strictObject({ backendAuth: backendAuth.optional() }).prefault({})

export const moderation = z
  .strictObject({
    model: z
      .string()
      .min(1)
      .max(256)
      .prefault('omni-moderation-latest')
      .describe('The model that judges.'),
    host: host()
      .prefault('https://api.openai.com')
      .describe("The service, if it is not OpenAI's own."),
    policies: policies(keyCredential()).describe(
      'The credential for the service: `backendAuth.key`.',
    ),
    timeout: timeout(),
    failureMode: failureMode(),
  })
  .describe('Sends all texts to the moderation API of OpenAI; what it flags is rejected.')

const version = (otherwise: string) =>
  z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}(?:-preview)?$/)
    .prefault(otherwise)
    .describe('The version of the API.')

/** A name alone is reached by HTTPS. */
const resource = () =>
  scalar<HostTarget>({
    what: 'the host of a resource',
    hint: 'write NAME.cognitiveservices.azure.com, or a URL',
    parse: (text) => parseHost(/^[\w.-]+$/.test(text) ? `https://${text}` : text),
  })

export const contentSafety = z
  .strictObject({
    endpoint: resource().describe(
      'The resource: `NAME.cognitiveservices.azure.com`, or a URL. HTTPS by default.',
    ),
    analyzeText: z
      .strictObject({
        severityThreshold: z
          .int()
          .min(0)
          .max(6)
          .prefault(2)
          .describe('Hate, self-harm, sexual and violent content of this severity is rejected.'),
        blocklistNames: z
          .array(z.string().min(1).max(64))
          .max(10)
          .prefault([])
          .describe('Blocklists of the resource; what is on them is rejected.'),
        haltOnBlocklistHit: z
          .boolean()
          .prefault(false)
          .describe('Whether the analysis ends with the first match of a blocklist.'),
        apiVersion: version('2024-09-01'),
      })
      .optional()
      .describe('Looks for harmful content.'),
    detectJailbreak: z
      .strictObject({ apiVersion: version('2024-02-15-preview') })
      .optional()
      .describe('Looks for attempts to talk a model out of its instructions; in requests only.'),
    policies: policies(azureCredential()).describe(
      'The credential for the service: `backendAuth.key` or `backendAuth.azure`. By default, ' +
        'that of the environment (`azure: {implicit: {}}`).',
    ),
    timeout: timeout(),
    failureMode: failureMode(),
  })
  .check(({ value, issues }) => {
    if (value.analyzeText !== undefined || value.detectJailbreak !== undefined) return
    const hint = 'add `analyzeText: {}` or `detectJailbreak: {}`'
    issues.push(issue(value, 'nothing would be looked for', { rule: 'missing', hint }))
  })
  .describe('Sends all texts to Azure AI Content Safety; what it finds harmful is rejected.')

const bedrockAuth = () =>
  z
    .strictObject({
      aws: z
        .strictObject(awsKeys('The id of the access key.'))
        .check(areWhole)
        .describe('Credentials of AWS; without any, those of the environment.'),
    })
    .describe('The credential that the service is sent.')

export const bedrockGuardrails = z
  .strictObject({
    guardrailIdentifier: z.string().min(1).max(2048).describe('The guardrail, by its id or ARN.'),
    guardrailVersion: z.string().min(1).max(32).describe('Its version: a number, or `DRAFT`.'),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,32}$/)
      .describe('The region that it is in.'),
    host: host().optional().describe('The service, if it is not that of the region.'),
    policies: policies(bedrockAuth()).describe(
      'The credential for the service: `backendAuth.aws`. By default, that of the environment.',
    ),
    timeout: timeout(),
    failureMode: failureMode(),
  })
  .describe(
    'Sends all texts to a guardrail of Amazon Bedrock: what it masks is masked, and what it blocks ' +
      'is rejected.',
  )

export type BedrockGuardrails = z.output<typeof bedrockGuardrails>
export type Moderation = z.output<typeof moderation>
export type ContentSafety = z.output<typeof contentSafety>
