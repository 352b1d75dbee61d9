import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The version whose rules the controller follows. */
const MODULE = 'sigs.k8s.io/gateway-api@v1.6.3'

/** The Gateway API definitions, from its Go module: files that kubectl can apply. */
export function gatewayApiDefinitions(channel: 'standard' | 'experimental'): readonly string[] {
  const { stdout, status, stderr } = spawnSync('go', ['mod', 'download', '-json', MODULE], {
    cwd: '/',
    encoding: 'utf8',
    env: { ...process.env, GOFLAGS: '-mod=mod', GOWORK: 'off' },
  })
  if (status !== 0) throw new Error(`${MODULE} cannot be fetched: ${stderr}${stdout}`)
  const { Dir: folder } = JSON.parse(stdout) as { readonly Dir: string }
  const definitions = join(folder, 'config/crd', channel)
  return readdirSync(definitions)
    .filter((name) => name.startsWith('gateway.networking.k8s.io_') && !name.includes('_vap_'))
    .map((name) => join(definitions, name))
}
