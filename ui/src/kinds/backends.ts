import { rules } from './keys-and-budgets.ts'
import { first, type KindHints } from './kind-hints.ts'

export const backends: KindHints = {
  noun: 'a backend',
  plural: 'Backends',
  what: 'An address, model providers or MCP servers that routes refer to by name.',
  start: { name: '', host: '' },
  starts: [
    {
      id: 'credential',
      label: 'a credential',
      to: ['policies', 'backendAuth'],
      value: { key: '' },
      isItem: false,
    },
    { id: 'tls', label: 'TLS', to: ['policies', 'backendTLS'], value: {}, isItem: false },
    rules('policies'),
  ],
  forms: { 'backends:': first('name', 'host', 'policies') },
}
