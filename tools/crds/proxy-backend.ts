import { aiSchema } from '../../src/sources/file/sections/ai.ts'
import { mcpBackendSchema } from '../../src/sources/file/sections/mcp.ts'
import type { Kind } from './definition.ts'
import { BACKEND, MCP } from './policies.ts'
import { backendRef, configMapKeyRef, labelSelector } from './references.ts'
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

/** Neither a provider nor an MCP server is an agent. */
const { a2a: _, ...NO_AGENT } = BACKEND
const providerPolicies = object('For requests to this provider.', NO_AGENT)

/** The groups of a file; a provider of its own is the same without them. */
const { groups, allowEndpoints } = toStructural(aiSchema.options[1], {
  'groups[].providers[].policies': providerPolicies,
}).properties as { readonly groups: Structural; readonly allowEndpoints: Structural }

const ai = object(
  'LLM providers.',
  {
    provider: groups.items?.properties?.['providers']?.items as Structural,
    groups,
    allowEndpoints,
  },
  exactlyOne(['provider', 'groups']),
)

const options = toStructural(mcpBackendSchema, { targets: undefined, statefulMode: undefined })

const address = {
  host: host('Where it is.'),
  backendRef: backendRef('A backend, in place of `host`.'),
  port,
  path: text('The path.', { pattern: '^/\\S*$' }),
}
const ADDRESS_RULES = [
  exactlyOne(['host', 'backendRef']),
  { rule: '!has(self.host) || has(self.port)', message: 'port is required with host' },
]

const staticTarget = object(
  'A server at an address.',
  {
    ...address,
    protocol: words('What it speaks.', ['StreamableHTTP', 'SSE'], 'StreamableHTTP'),
    policies: object('For requests to this server.', NO_AGENT),
  },
  ...ADDRESS_RULES,
)

const apiTarget = object(
  'An HTTP API whose operations are exposed as tools.',
  {
    ...address,
    'schema!': object(
      'The OpenAPI document, in JSON or YAML.',
      {
        configMapRef: configMapKeyRef('A ConfigMap with the document.', 'openapi.yaml'),
        url: text('The URL to fetch the document from.', {
          pattern: '^https?://[^\\s?#@]+(?:\\?[^\\s#]*)?$',
        }),
      },
      exactlyOne(['configMapRef', 'url']),
    ),
    policies: object('For requests to this API.', NO_AGENT),
  },
  ...ADDRESS_RULES,
)

const pins = object(
  'The approved tools, as digests of their titles, descriptions, schemas and annotations.',
  {
    mode: words(
      'Enforce: tools that are new or that differ from their pins are hidden from clients. Audit: ' +
        'they are reported.',
      ['Enforce', 'Audit'],
      'Enforce',
    ),
    'configMapRef!': configMapKeyRef(
      'A ConfigMap with the file that `portcullis pin` writes.',
      'pins.json',
    ),
  },
)

const mcp = object('MCP servers, as one.', {
  'targets!': {
    ...list(
      'The servers.',
      object(
        'A server.',
        {
          'name!': text(
            'The name of the server, used as a prefix of its tool names. Must not contain `_` or `+`.',
            {
              maxLength: 253,
              pattern: '^[A-Za-z0-9]([A-Za-z0-9./-]*[A-Za-z0-9])?$',
            },
          ),
          static: staticTarget,
          openapi: apiTarget,
          selector: object(
            'Servers by labels.',
            {
              namespaces: labelSelector('The namespaces; that of the backend by default.'),
              services: labelSelector('The Services.'),
            },
            atLeastOne('namespaces', 'services'),
          ),
          pins,
        },
        exactlyOne(['static', 'openapi', 'selector']),
      ),
      1,
      128,
    ),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name'],
  },
  sessionRouting: words(
    'Whether the gateway keeps sessions.',
    ['Stateful', 'Stateless'],
    'Stateful',
  ),
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
      dynamicForwardProxy: object('A forward proxy: the address is determined for each request.', {
        target: text('A CEL expression for `host:port`; by default, the host of the request.', {
          maxLength: 16_384,
        }),
      }),
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
  isDescribedOnce: true,
}
