import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packagesOf } from './notices.ts'

interface Product {
  readonly name: string
  readonly version: string
  readonly license: string
}

/** The packages that went into the bundles, as a CycloneDX document. */
export function renderSbom(root: string, product: Product, inputs: readonly string[]): string {
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
  const node = { type: 'platform', 'bom-ref': 'node', name: 'node', version: process.versions.node }
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
    components: [...components, node],
  }
  return `${JSON.stringify(document, undefined, 2)}\n`
}

function purlOf({ name, version }: Product): string {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`
}

/** `sha512-…` of the lock file, in base64, as CycloneDX writes it. */
function hashOf(integrity: string) {
  const [algorithm = '', digest = ''] = integrity.split('-', 2)
  const content = Buffer.from(digest, 'base64').toString('hex')
  return { alg: algorithm.toUpperCase().replace('SHA', 'SHA-'), content }
}
