import { writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { buildSite } from './build-site.ts'
import { packSite } from './pack-site.ts'

/**
 * `node tools/site/build.ts [FOLDER] [BASE]` builds the documentation site, by default in
 * `.cache/site`. A name that ends with `.tgz` builds the release archive.
 */
const [target = join(import.meta.dirname, '../../.cache/site'), base] = process.argv.slice(2)
if (target.endsWith('.tgz')) writeFileSync(target, await packSite(basename(target, '.tgz')))
else await buildSite(resolve(target), base)
