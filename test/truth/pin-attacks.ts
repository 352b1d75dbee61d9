import type { Addresses } from './attacked-services.ts'
import type { Tree } from './document.ts'
import { type File, type ProtocolAttack, routed, toolCall, tools } from './protocol-attacks.ts'

export const pinned = (mode: string, file: string): File => {
  return (place) => ({
    routes: [
      {
        name: 'r0',
        backends: [
          {
            mcp: {
              targets: [
                {
                  name: 'one',
                  mcp: { host: place.tools, path: '/mcp' },
                  pins: { mode, file },
                },
              ],
            },
          },
        ],
      },
    ],
  })
}
const pinnedWith = (place: Addresses, rule: Tree): Tree => {
  const file = pinned('Enforce', 'few.pins.json')(place)
  const [route] = file['routes'] as readonly Tree[]
  return { routes: [{ ...route, policies: aboutTools(rule) }] }
}
const aboutTools = (...own: readonly Tree[]): Tree => ({ mcpAuthorization: { rules: own } })
const atGateway = (policies: Tree, more: Tree = {}): File => {
  return (place) => ({
    gateways: { default: { port: place.port, policies } },
    ...routed(tools(place, {}, more)),
  })
}

const twoServers = (policies: Tree): File => {
  return (place) => {
    const mcp = { host: place.tools, path: '/mcp' }
    const targets = ['one', 'two'].map((name) => ({ name, mcp }))
    return routed({ mcp: { targets, prefixMode: 'Never' }, policies })
  }
}

/** The same for pins of MCP servers. */
export const PIN_ATTACKS: readonly ProtocolAttack[] = [
  {
    name: 'a rule goes about tools whose server only lists tell',
    old: twoServers(aboutTools({ deny: "mcp.tool.target == 'two' && mcp.tool.name == 'any'" })),
    now: twoServers(aboutTools({ deny: "mcp.tool.target == 'two' && mcp.tool.name == 'none'" })),
    requests: [toolCall('any'), toolCall('none')],
    isSame: true,
  },
  {
    name: 'a rule goes about tools that are not pinned',
    old: (place) => pinnedWith(place, { deny: "mcp.tool.name == 'write'" }),
    now: (place) => pinnedWith(place, { deny: "mcp.tool.name == 'other'" }),
    requests: [toolCall('write'), toolCall('other'), toolCall('read')],
    isSame: true,
  },
  {
    name: 'pins are enforced that were only reported',
    old: pinned('Audit', 'few.pins.json'),
    now: pinned('Enforce', 'few.pins.json'),
    requests: [toolCall('write'), toolCall('read'), toolCall('none')],
  },
  {
    name: 'a tool is pinned as it is not',
    old: pinned('Enforce', 'all.pins.json'),
    now: pinned('Enforce', 'wrong.pins.json'),
    requests: [toolCall('write'), toolCall('read')],
  },
  {
    name: 'a rule of the gateway about tools goes',
    old: atGateway(aboutTools({ deny: "mcp.tool.name == 'write'" })),
    now: atGateway({}),
    requests: [toolCall('write'), toolCall('read')],
  },
  {
    name: 'a rule of the gateway about tools is hidden by none of the backend',
    old: atGateway(
      aboutTools({ allow: "mcp.tool.name == 'read'" }),
      aboutTools({ allow: "mcp.tool.name == 'write'" }),
    ),
    now: atGateway({}, aboutTools({ allow: "mcp.tool.name == 'write'" })),
    requests: [toolCall('read'), toolCall('write')],
  },
  {
    name: 'a rule of the gateway about tools is said twice',
    old: atGateway(
      aboutTools({ deny: "mcp.tool.name == 'write'" }),
      aboutTools({ deny: "mcp.tool.name == 'write'" }),
    ),
    now: atGateway(aboutTools({ deny: "mcp.tool.name == 'write'" })),
    requests: [toolCall('write'), toolCall('read')],
    isSame: true,
  },
]
