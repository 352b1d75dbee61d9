import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packagesOf } from './notices.ts'

interface Product {
  readonly name: string
  readonly version: string
  readonly license: string
}

/** A distribution package whose files are in an image. */
export interface SystemPackage {
  readonly name: string
  readonly version: string
  readonly cpu: string
}

/** Renders a CycloneDX document of a release: packages, Node with its parts, libraries. */
export function renderSbom(
  root: string,
  product: Product,
  inputs: readonly string[],
  libraries: readonly SystemPackage[] = [],
): string {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const components = packagesOf(inputs).map((folder) => {
    const own = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as Product
    const { integrity } = (lock.packages?.[folder.slice(folder.indexOf('node_modules/'))] ??
      {}) as { readonly integrity?: string }
    return {
      type: 'library',
      'bom-ref': purlOf(own),
      name: own.name,
      version: own.version,
      purl: purlOf(own),
      licenses: [{ license: { id: own.license } }],
      ...(integrity === undefined ? {} : { hashes: [hashOf(integrity)] }),
    }
  })
  const { node: version, ...parts } = process.versions
  const node = {
    type: 'platform',
    'bom-ref': `node@${version}`,
    name: 'node',
    version,
    purl: `pkg:generic/node@${version}`,
    licenses: [{ license: { id: 'MIT' } }],
    // Libraries linked into Node: V8, OpenSSL, zlib and so on.
    components: Object.entries(parts)
      .filter(([name]) => !NO_LIBRARIES.has(name))
      .map(([name, of]) => ({
        type: 'library',
        'bom-ref': `node@${version}/${name}@${of}`,
        name,
        version: of,
      })),
  }
  const system = libraries.map(({ name, version: of, cpu }) => {
    const purl = `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(of)}?arch=${cpu}`
    return { type: 'library', 'bom-ref': purl, name, version: of, purl }
  })
  const document = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        ...product,
        license: undefined,
        licenses: [{ license: { id: product.license } }],
      },
    },
    components: [...components, node, ...system],
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}

/** Versions of interfaces and data, not of code. */
const NO_LIBRARIES = new Set(['modules', 'napi', 'cldr', 'tz', 'unicode'])

function purlOf({ name, version }: Product): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

/** Converts the base64 `sha512-…` of the lock file to the form of CycloneDX. */
function hashOf(integrity: string) {
  const [algorithm = '', digest = ''] = integrity.split('-', 2)
  const content = Buffer.from(digest, 'base64').toString('hex')
  return { alg: algorithm.toUpperCase().replace('SHA', 'SHA-'), content }
}
