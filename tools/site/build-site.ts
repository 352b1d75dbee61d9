import { join } from 'node:path'
import { build } from 'vitepress'

const ROOT = join(import.meta.dirname, '../..')

/** Builds the documentation site into a folder, for a server that serves it at `base`. */
export async function buildSite(folder: string, base = '/'): Promise<void> {
  process.env['SITE_OUT'] = folder
  process.env['SITE_BASE'] = base
  await build(join(ROOT, 'site'))
}
