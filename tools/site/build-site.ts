import { join } from 'node:path'
import { build } from 'vitepress'

const ROOT = join(import.meta.dirname, '../..')

/** Builds the documentation site into a folder, to be served at `base`. */
export async function buildSite(folder: string, base = '/'): Promise<void> {
  process.env['SITE_OUT'] = folder
  process.env['SITE_BASE'] = base
  await build(join(ROOT, 'site'))
}
