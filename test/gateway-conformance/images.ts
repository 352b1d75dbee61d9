import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeImage } from '../../tools/image/oci.ts'

const ROOT = join(import.meta.dirname, '../..')
/** The names that manifests of the suite use for one program. */
const ECHO = ['v1.5.1', 'v1.6.0-dev.2', 'v1.6.0-dev.3'].map(
  (tag) => `registry.k8s.io/gateway-api/echo-basic:${tag}`,
)
/** The suite requires it to run, but it serves only UDP tests. */
const DNS = 'registry.k8s.io/coredns/coredns:v1.12.2'

/** Writes the archives of the images that the suite's pods use into a folder. */
export function suiteImages(folder: string): readonly string[] {
  const pause = join(folder, 'pause.tar')
  const program = readFileSync(join(ROOT, '.cache/cluster/bin/echo-basic'))
  const echo = ECHO.map((name, index) => {
    const path = join(folder, `echo-${index}.tar`)
    writeFileSync(path, image(name, program))
    return path
  })
  const made = spawnSync(join(ROOT, 'test/cluster/pause-image.ts'), [pause, DNS])
  if (made.status !== 0) throw new Error(String(made.stderr))
  return [...echo, pause]
}

function image(name: string, program: Buffer): Buffer {
  return writeImage({
    name,
    labels: {},
    entrypoint: ['/echo-basic'],
    command: [],
    environment: {},
    user: '65532:65532',
    ports: [3000],
    layers: [[{ kind: 'file', path: 'echo-basic', bytes: program, mode: 0o755 }]],
  })
}
