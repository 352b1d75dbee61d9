import { join, resolve } from 'node:path'
import { buildSite } from './build-site.ts'

/** `node tools/site/build.ts [FOLDER] [BASE]`: the documentation site, by default in `.cache/site`. */
const [folder = join(import.meta.dirname, '../../.cache/site'), base] = process.argv.slice(2)
await buildSite(resolve(folder), base)
