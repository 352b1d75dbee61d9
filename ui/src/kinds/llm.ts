import { budget, key, rules } from './keys-and-budgets.ts'
import { first, type KindHints } from './kind-hints.ts'

export const llm: KindHints = {
  noun: 'models',
  plural: 'Models',
  what: 'Models by name, and the providers that serve them.',
  start: { models: [] },
  starts: [
    {
      id: 'model',
      label: 'a model',
      to: ['models'],
      value: { name: '', provider: 'openAI', params: {} },
      isItem: true,
    },
    key('policies'),
    budget('policies'),
    rules('policies'),
    {
      id: 'provider',
      label: 'a provider',
      to: ['providers'],
      value: { name: '', provider: 'openAI', params: {} },
      isItem: true,
    },
    {
      id: 'virtual-model',
      label: 'a virtual model',
      to: ['virtualModels'],
      value: { name: '', routing: { failover: { targets: [] } } },
      isItem: true,
    },
    {
      id: 'guard',
      label: 'guards',
      to: ['policies', 'guardrails'],
      value: {},
      isItem: false,
    },
  ],
  forms: {
    'llm:': first('models', 'policies'),
    'llm:models[]': first('name', 'provider', 'params'),
    'llm:providers[]': first('name', 'provider', 'params'),
  },
}
