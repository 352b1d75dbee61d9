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
      object('A model.', { 'model!': modelName('The name of the model.'), ...own }),
      1,
      64,
    ),
  })

const virtualModel = object(
  'A model name that chooses among other models.',
  {
    weighted: targets('Choose by weight.', {
      weight: { ...number('The share of requests.', 0, 1_000_000), default: 1 },
    }),
    failover: targets('Try the next model when one fails.', {
      'priority!': number('The priority. The lowest value is tried first.', 0, 1000),
    }),
    conditional: targets('Choose the first model whose condition is true.', {
      when: text('A CEL condition. Default: always true.', { maxLength: 16_384 }),
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
  description: 'A model that clients can request by name.',
  columns: [
    {
      name: 'Model',
      jsonPath: '.spec.match.model',
      description: 'The model name that clients request.',
    },
    { name: 'Provider', jsonPath: '.spec.provider', description: 'The provider.' },
    {
      name: 'Accepted',
      jsonPath: '.status.parents[0].conditions[?(@.type=="Accepted")].status',
      description: 'Whether the first parent offers the model.',
    },
  ],
  spec: object(
    'The model and its provider.',
    {
      'parentRefs!': parentRefs,
      match: object('Requests to match.', {
        model: {
          ...modelName(
            'The model name that clients request. Can contain one leading or trailing `*`. Default: the name of the object.',
          ),
          pattern: '^(\\*|\\*?[^*]+|[^*]+\\*)$',
        },
      }),
      visibility: words(
        'Whether clients can request the model directly, or only through virtual models.',
        ['Public', 'Internal'],
        'Public',
      ),
      provider: words('The provider that serves the model.', PROVIDERS),
      model: modelName(
        "The model to request from the provider. Defaults to the model in the client's request.",
      ),
      baseURL: {
        ...text('The URL of the API.', { pattern: '^https?://[^\\s?#@]+$' }),
      },
      azure: object('Azure settings.', {
        'resourceName!': text('The resource name.'),
        resourceType: text('The resource type.'),
        apiVersion: text('The API version.'),
        projectName: text('The project name.'),
      }),
      bedrock: object('Bedrock settings.', {
        region: { ...text('The AWS region.'), default: 'us-east-1' },
      }),
      vertexai: object('Vertex AI settings.', {
        'projectId!': text('The project ID.'),
        region: { ...text('The region.'), default: 'global' },
      }),
      custom: object('Settings of a custom provider.', {
        backendRef: backendRef('A backend in the cluster, instead of `baseURL`.'),
        'formats!': list(
          'The API formats that the provider supports.',
          object('A format.', {
            'type!': text('The name of the format.'),
            path: text('The path of the endpoint.'),
          }),
          1,
          16,
        ),
      }),
      virtualModel,
      policies: object('Policies for requests to this model.', {
        auth: object(
          'Credentials for the provider.',
          {
            secretRef: secretKeyRef('A Secret that contains the key.', 'Authorization'),
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
      message: `${key} can only be set with provider ${provider}`,
    })),
    {
      rule: "!has(self.provider) || self.provider != 'Ollama' || has(self.baseURL)",
      message: 'baseURL is required for provider Ollama',
    },
    {
      rule: '!has(self.virtualModel) || !(has(self.policies) || has(self.baseURL))',
      message:
        'a virtual model cannot have policies or baseURL: set them on the models that it chooses from',
    },
  ),
  status: parentsStatus,
}
