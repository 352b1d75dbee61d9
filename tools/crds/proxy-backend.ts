import { aiSchema } from '../../src/sources/file/sections/ai.ts'
import { mcpBackendSchema } from '../../src/sources/file/sections/mcp.ts'
import type { Kind } from './definition.ts'
import { BACKEND, MCP } from './policies.ts'
import { backendRef, labelSelector } from './references.ts'
import { conditionsStatus } from './status.ts'
import {
  atLeastOne,
  exactlyOne,
  list,
  number,
  object,
  type Structural,
  text,
  toStructural,
  words,
} from './structural.ts'

const host = (what: string) => text(what, { maxLength: 253 })
const port = number('The port.', 1, 65_535)

const providerPolicies = object('For requests to this provider.', BACKEND)

/** The groups of a file; a provider of its own is the same without them. */
const { groups } = toStructural(aiSchema.options[1], {
  'groups[].providers[].policies': providerPolicies,
}).properties as { readonly groups: Structural }

const ai = object(
  'LLM providers.',
  { provider: groups.items?.properties?.['providers']?.items as Structural, groups },
  exactlyOne(['provider', 'groups']),
)

const options = toStructural(mcpBackendSchema, { targets: undefined, statefulMode: undefined })

const staticTarget = object(
  'A server at an address.',
  {
    host: host('Where it is.'),
    backendRef: backendRef('A backend, in place of `host`.'),
    port,
    path: text('The path.', { pattern: '^/\\S*$' }),
    protocol: words('What it speaks.', ['StreamableHTTP', 'SSE'], 'StreamableHTTP'),
    policies: object('For requests to this server.', BACKEND),
  },
  exactlyOne(['host', 'backendRef']),
  { rule: '!has(self.host) || has(self.port)', message: 'port is required with host' },
)

const mcp = object('MCP servers, as one.', {
  'targets!': {
    ...list(
      'The servers.',
      object(
        'A server.',
        {
          'name!': text('Goes before the names of its tools.', { maxLength: 253 }),
          static: staticTarget,
          selector: object(
            'Servers by labels.',
            {
              namespaces: labelSelector('The namespaces; that of the backend by default.'),
              services: labelSelector('The Services.'),
            },
            atLeastOne('namespaces', 'services'),
          ),
        },
        exactlyOne(['static', 'selector']),
      ),
      1,
      128,
    ),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
  },
  sessionRouting: words('Whether there are sessions.', ['Stateful', 'Stateless'], 'Stateful'),
  ...options.properties,
})

export const proxyBackend: Kind = {
  kind: 'ProxyBackend',
  plural: 'proxybackends',
  shortName: 'pbe',
  description:
    'Something that routes lead to and that is no Service: LLM providers, MCP servers, other hosts.',
  columns: [
    {
      name: 'Accepted',
      jsonPath: '.status.conditions[?(@.type=="Accepted")].status',
      description: 'Whether the backend is understood.',
    },
  ],
  spec: object(
    'What the backend is.',
    {
      ai,
      mcp,
      static: object(
        'A host, or a socket on the node.',
        {
          host: host('Where it is.'),
          port,
          unixPath: text('The path of a socket.', { pattern: '^/' }),
        },
        exactlyOne(['host', 'unixPath']),
        { rule: 'has(self.host) == has(self.port)', message: 'host and port go together' },
      ),
      dynamicForwardProxy: object('The host of the request.', {}),
      a2a: object('An agent.', { 'host!': host('Where it is.'), 'port!': port }),
      policies: object('For requests to this backend.', { ...BACKEND, mcp: MCP }),
    },
    exactlyOne(['ai', 'mcp', 'static', 'dynamicForwardProxy', 'a2a']),
    {
      rule: '!has(self.policies) || !has(self.policies.mcp) || has(self.mcp)',
      message: 'policies.mcp goes with mcp, and only with it',
    },
  ),
  status: conditionsStatus,
}
