import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { World } from './gateways.ts'
import { SERVERS } from './mcp-documents.ts'
import { runTools } from './tools.ts'

interface Pins {
  readonly targets: Readonly<Record<string, Readonly<Record<string, object>>>>
}

/** Pins of all tools of the servers, and a file that is out of date. */
export async function writePins(world: World): Promise<void> {
  const { ports, backends } = world.place
  const targets = SERVERS.map((name, index) => ({
    name,
    mcp: { host: `127.0.0.1:${backends[index]}` },
    pins: { file: 'pins.json' },
  }))
  const config = { gateways: { default: { port: ports[0] as number } }, mcp: { targets } }
  const { code, err } = await runTools(['pin', world.writeText('pin.yaml', JSON.stringify(config))])
  if (code !== 0) throw new Error(err)
  const pins = JSON.parse(readFileSync(join(world.folder, 'pins.json'), 'utf8')) as Pins
  // `list` is new, and `write` differs.
  const changed = Object.entries(pins.targets).map(([server, { list: _, ...tools }]) => {
    return [server, { ...tools, write: { inputSchema: `sha256:${'0'.repeat(64)}` } }]
  })
  const old = { ...pins, targets: Object.fromEntries(changed) }
  writeFileSync(join(world.folder, 'old-pins.json'), JSON.stringify(old))
}
