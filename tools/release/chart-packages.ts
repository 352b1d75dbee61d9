import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { type TarEntry, writeTar } from '../image/tar.ts'
import { gzip } from './gzip.ts'

interface ChartPackage {
  /** `portcullis-0.1.0.tgz` */
  readonly file: string
  readonly bytes: Buffer
}

/** Packages each chart like `helm package`, but without dates. */
export function chartPackages(root: string): readonly ChartPackage[] {
  return globSync('charts/*/Chart.yaml', { cwd: root })
    .sort()
    .map((file) => packChart(join(root, file, '..')))
}

function packChart(folder: string): ChartPackage {
  const { name, version } = parse(readFileSync(join(folder, 'Chart.yaml'), 'utf8')) as {
    readonly name: string
    readonly version: string
  }
  const files = globSync('**/*', { cwd: folder })
    .filter((file) => statSync(join(folder, file)).isFile())
    .map((file) => file.replaceAll('\\', '/'))
  // Helm expects Chart.yaml first.
  const rest = files.filter((file) => file !== 'Chart.yaml').sort()
  const entries = ['Chart.yaml', ...rest].map((file): TarEntry => {
    return { kind: 'file', path: `${name}/${file}`, bytes: readFileSync(join(folder, file)) }
  })
  return { file: `chart-${name}-${version}.tgz`, bytes: gzip(writeTar(entries)) }
}
