import * as z from 'zod'
import { areWhole, awsKeys } from '../aws-keys.ts'
import { azureCredential } from '../azure-identity.ts'
import { choice, duration, scalar } from '../scalars.ts'
import { keyCredential } from '../sent-key.ts'
import { issue } from '../shapes.ts'
import { type HostTarget, host, parseHost } from '../target.ts'

/* Guards that are services with their own API. */

export const failureMode = () =>
  choice('Deny', 'Allow', 'failClosed', 'failOpen')
    .prefault('Deny')
    .transform((mode): 'Deny' | 'Allow' =>
      mode === 'Allow' || mode === 'failOpen' ? 'Allow' : 'Deny',
    )
    .describe(
      'What to do if the service is unavailable or sends an invalid response: `Deny` rejects the ' +
        'call with 503, `Allow` admits it. `failClosed` and `failOpen` are aliases.',
    )

const timeout = () => duration().prefault('5s').describe('The timeout of calls to the service.')

const policies = <T extends z.ZodType>(backendAuth: T) =>
  z.strictObject({ backendAuth: backendAuth.optional() }).prefault({})

export const moderation = z
  .strictObject({
    model: z
      .string()
      .min(1)
      .max(256)
      .prefault('omni-moderation-latest')
      .describe('The moderation model.'),
    host: host()
      .prefault('https://api.openai.com')
      .describe("The address of the service. Default: OpenAI's."),
    policies: policies(keyCredential()).describe(
      'The credential for the service: `backendAuth.key`.',
    ),
    timeout: timeout(),
    failureMode: failureMode(),
  })
  .describe('Sends all text to the OpenAI moderation API and rejects flagged content.')

const version = (otherwise: string) =>
  z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}(?:-preview)?$/)
    .prefault(otherwise)
    .describe('The API version.')

/** A bare name is reached over HTTPS. */
const resource = () =>
  scalar<HostTarget>({
    what: 'a resource host',
    hint: 'use NAME.cognitiveservices.azure.com or a URL',
    parse: (text) => parseHost(/^[\w.-]+$/.test(text) ? `https://${text}` : text),
  })

export const contentSafety = z
  .strictObject({
    endpoint: resource().describe(
      'The host of the resource: `NAME.cognitiveservices.azure.com` or a URL. HTTPS by default.',
    ),
    analyzeText: z
      .strictObject({
        severityThreshold: z
          .int()
          .min(0)
          .max(6)
          .prefault(2)
          .describe(
            'The severity from which hate, self-harm, sexual and violent content is rejected.',
          ),
        blocklistNames: z
          .array(z.string().min(1).max(64))
          .max(10)
          .prefault([])
          .describe('Blocklists of the resource. Matching content is rejected.'),
        haltOnBlocklistHit: z
          .boolean()
          .prefault(false)
          .describe('Whether to stop the analysis at the first blocklist match.'),
        apiVersion: version('2024-09-01'),
      })
      .optional()
      .describe('Looks for harmful content.'),
    detectJailbreak: z
      .strictObject({ apiVersion: version('2024-02-15-preview') })
      .optional()
      .describe('Looks for jailbreak attempts. Requests only.'),
    policies: policies(azureCredential()).describe(
      'The credential for the service: `backendAuth.key` or `backendAuth.azure`. By default, ' +
        'the credential from the environment (`azure: {implicit: {}}`).',
    ),
    timeout: timeout(),
    failureMode: failureMode(),
  })
  .check(({ value, issues }) => {
    if (value.analyzeText !== undefined || value.detectJailbreak !== undefined) return
    const hint = 'set `analyzeText: {}` or `detectJailbreak: {}`'
    issues.push(issue(value, 'no analysis is enabled', { rule: 'missing', hint }))
  })
  .describe('Sends all text to Azure AI Content Safety and rejects harmful content.')

const bedrockAuth = () =>
  z
    .strictObject({
      aws: z
        .strictObject(awsKeys('The access key ID.'))
        .check(areWhole)
        .describe('AWS credentials. Defaults to those from the environment.'),
    })
    .describe('The credential to send to the service.')

export const bedrockGuardrails = z
  .strictObject({
    guardrailIdentifier: z.string().min(1).max(2048).describe('The ID or ARN of the guardrail.'),
    guardrailVersion: z
      .string()
      .min(1)
      .max(32)
      .describe('The version of the guardrail: a number or `DRAFT`.'),
    region: z
      .string()
      .regex(/^[a-z0-9-]{1,32}$/)
      .describe('The region of the guardrail.'),
    host: host().optional().describe('The address of the service. Default: that of the region.'),
    policies: policies(bedrockAuth()).describe(
      'The credential for the service: `backendAuth.aws`. Defaults to the credentials from the environment.',
    ),
    timeout: timeout(),
    failureMode: failureMode(),
  })
  .describe(
    'Sends all text to an Amazon Bedrock guardrail. Content that it masks is masked, and content that it blocks ' +
      'is rejected.',
  )

export type BedrockGuardrails = z.output<typeof bedrockGuardrails>
export type Moderation = z.output<typeof moderation>
export type ContentSafety = z.output<typeof contentSafety>
