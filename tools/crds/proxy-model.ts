import type { Kind } from './definition.ts'
import { BACKEND } from './policies.ts'
import { backendRef, parentRefs, secretKeyRef } from './references.ts'
import { parentsStatus } from './status.ts'
import {
  atMostOne,
  exactlyOne,
  list,
  number,
  object,
  type Structural,
  text,
  words,
} from './structural.ts'

const PROVIDERS = [
  'Anthropic',
  'Azure',
  'Bedrock',
  'Custom',
  'Gemini',
  'Groq',
  'Mistral',
  'Ollama',
  'OpenAI',
  'VertexAI',
  'XAI',
  'Baseten',
  'Cerebras',
  'Cohere',
  'Deepinfra',
  'Deepseek',
  'Fireworks',
  'Huggingface',
  'Openrouter',
  'TogetherAI',
]

const modelName = (what: string) => text(what, { maxLength: 256 })

const targets = (what: string, own: Readonly<Record<string, Structural>>) =>
  object(what, {
    'targets!': list(
      'The models to choose from.',
      object('A model.', { 'model!': modelName('Its name.'), ...own }),
      1,
      64,
    ),
  })

const virtualModel = object(
  'A name for a choice between models.',
  {
    weighted: targets('By weight.', {
      weight: { ...number('Its share.', 0, 1_000_000), default: 1 },
    }),
    failover: targets('Try the next model when one fails.', {
      'priority!': number('The priority. The lowest value is tried first.', 0, 1000),
    }),
    conditional: targets('Choose the first model whose condition is true.', {
      when: text('A CEL expression; without one it is always true.', { maxLength: 16_384 }),
    }),
  },
  exactlyOne(['weighted', 'failover', 'conditional']),
)

const { ai, auth, authorization, guardrails, headerModifiers, health, tls } = BACKEND as Readonly<
  Record<string, Structural>
>

const OWN_OPTIONS: Readonly<Record<string, string>> = {
  azure: 'Azure',
  bedrock: 'Bedrock',
  vertexai: 'VertexAI',
  custom: 'Custom',
}

export const proxyModel: Kind = {
  kind: 'ProxyModel',
  plural: 'proxymodels',
  shortName: 'pmodel',
  description: 'A model that clients can ask for by its name.',
  columns: [
    {
      name: 'Model',
      jsonPath: '.spec.match.model',
      description: 'The model name that clients request.',
    },
    { name: 'Provider', jsonPath: '.spec.provider', description: 'Who serves it.' },
  ],
  spec: object(
    'Which model, and who serves it.',
    {
      'parentRefs!': parentRefs,
      match: object('Which requests it is for.', {
        model: {
          ...modelName(
            'What clients ask for, with a `*` at one end if need be; the name of the object by default.',
          ),
          pattern: '^(\\*|\\*?[^*]+|[^*]+\\*)$',
        },
      }),
      visibility: words(
        'Whether clients may ask for it, or only virtual models.',
        ['Public', 'Internal'],
        'Public',
      ),
      provider: words('Who serves it.', PROVIDERS),
      model: modelName(
        'The model to request from the provider; by default, the one that was requested.',
      ),
      baseURL: {
        ...text('Where the API is.', { pattern: '^https?://[^\\s?#@]+$' }),
      },
      azure: object('For Azure.', {
        'resourceName!': text('The resource.'),
        resourceType: text('Its type.'),
        apiVersion: text('The API version.'),
        projectName: text('The project.'),
      }),
      bedrock: object('For Bedrock.', { region: { ...text('The region.'), default: 'us-east-1' } }),
      vertexai: object('For Vertex AI.', {
        'projectId!': text('The project.'),
        region: { ...text('The region.'), default: 'global' },
      }),
      custom: object('For any other endpoint.', {
        backendRef: backendRef('A backend in the cluster, in place of `baseURL`.'),
        'formats!': list(
          'The formats that it speaks.',
          object('A format.', { 'type!': text('The format.'), path: text('Its path.') }),
          1,
          16,
        ),
      }),
      virtualModel,
      policies: object('For requests to this model.', {
        auth: object(
          'Credentials for the provider.',
          {
            secretRef: secretKeyRef('A Secret with the key.', 'Authorization'),
            aws: auth?.properties?.['aws'] as Structural,
          },
          exactlyOne(['secretRef', 'aws']),
        ),
        ai: ai as Structural,
        authorization: authorization as Structural,
        guardrails: guardrails as Structural,
        headerModifiers: headerModifiers as Structural,
        health: health as Structural,
        tls: tls as Structural,
      }),
    },
    exactlyOne(['provider', 'virtualModel']),
    atMostOne(...Object.keys(OWN_OPTIONS)),
    ...Object.entries(OWN_OPTIONS).map(([key, provider]) => ({
      rule: `!has(self.${key}) || (has(self.provider) && self.provider == '${provider}')`,
      message: `${key} goes with the provider ${provider}`,
    })),
    {
      rule: "!has(self.provider) || self.provider != 'Ollama' || has(self.baseURL)",
      message: 'baseURL is required for the provider Ollama',
    },
    {
      rule: '!has(self.virtualModel) || !(has(self.policies) || has(self.baseURL))',
      message:
        'a virtual model has neither policies nor baseURL: those are of the models that it chooses from',
    },
  ),
  status: parentsStatus,
}
