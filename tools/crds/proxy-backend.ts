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

/** Policies for providers and MCP servers, neither of which is an agent. */
const { a2a: _, ...NO_AGENT } = BACKEND
const providerPolicies = object('Policies for requests to this provider.', NO_AGENT)

/** The groups of a file; a single provider has the same form without groups. */
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
  host: host('The hostname or IP address.'),
  backendRef: backendRef('A backend, instead of `host`.'),
  port,
  path: text('The path.', { pattern: '^/\\S*$' }),
}
const ADDRESS_RULES = [
  exactlyOne(['host', 'backendRef']),
  { rule: '!has(self.host) || has(self.port)', message: 'port is required with host' },
]

const staticTarget = object(
  'A server at a fixed address.',
  {
    ...address,
    protocol: words(
      'The transport protocol of the server.',
      ['StreamableHTTP', 'SSE'],
      'StreamableHTTP',
    ),
    policies: object('Policies for requests to this server.', NO_AGENT),
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
        configMapRef: configMapKeyRef('A ConfigMap that contains the document.', 'openapi.yaml'),
        url: text('The URL to fetch the document from.', {
          pattern: '^https?://[^\\s?#@]+(?:\\?[^\\s#]*)?$',
        }),
      },
      exactlyOne(['configMapRef', 'url']),
    ),
    policies: object('Policies for requests to this API.', NO_AGENT),
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
      'A ConfigMap that contains the file written by `portcullis pin`.',
      'pins.json',
    ),
  },
)

const mcp = object('MCP servers, combined into one.', {
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
            'Selects servers by labels.',
            {
              namespaces: labelSelector(
                'The namespaces to select from. Default: the namespace of the backend.',
              ),
              services: labelSelector('The Services to select.'),
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
    'A destination of routes that is not a Service: LLM providers, MCP servers or other hosts.',
  columns: [
    {
      name: 'Accepted',
      jsonPath: '.status.conditions[?(@.type=="Accepted")].status',
      description: 'Whether the backend is valid.',
    },
  ],
  spec: object(
    'The backend.',
    {
      ai,
      mcp,
      static: object(
        'A host, or a Unix socket on the node.',
        {
          host: host('The hostname or IP address.'),
          port,
          unixPath: text('The path of a Unix socket.', { pattern: '^/' }),
        },
        exactlyOne(['host', 'unixPath']),
        { rule: 'has(self.host) == has(self.port)', message: 'host and port must be set together' },
      ),
      dynamicForwardProxy: object('A forward proxy: the address is determined for each request.', {
        target: text(
          'A CEL expression that returns `host:port`. By default, the host of the request.',
          {
            maxLength: 16_384,
          },
        ),
      }),
      a2a: object('An A2A agent.', { 'host!': host('The hostname or IP address.'), 'port!': port }),
      policies: object('Policies for requests to this backend.', { ...BACKEND, mcp: MCP }),
    },
    exactlyOne(['ai', 'mcp', 'static', 'dynamicForwardProxy', 'a2a']),
    {
      rule: '!has(self.policies) || !has(self.policies.mcp) || has(self.mcp)',
      message: 'policies.mcp can only be set together with mcp',
    },
  ),
  status: conditionsStatus,
  isDescribedOnce: true,
}
