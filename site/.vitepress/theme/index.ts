import type { Theme } from 'vitepress'
import DefaultTheme from 'vitepress/theme'
import { defineAsyncComponent, defineComponent, h, onMounted, ref } from 'vue'
import './playground.css'

/** Renders in browsers only, because the editors need a DOM. */
function inBrowsers(load: () => Promise<Parameters<typeof h>[0]>) {
  return defineComponent(() => {
    const isMounted = ref(false)
    onMounted(() => (isMounted.value = true))
    const Loaded = defineAsyncComponent(load as never)
    return () => (isMounted.value ? h(Loaded) : h('p', 'Loading…'))
  })
}

// biome-ignore lint/style/noDefaultExport: VitePress requires a default export
export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    const load = (name: 'CelPlayground' | 'PolicySandbox') => async () =>
      (await import('./playground.ts'))[name] as never
    app.component('CelPlayground', inBrowsers(load('CelPlayground')))
    app.component('PolicySandbox', inBrowsers(load('PolicySandbox')))
  },
} satisfies Theme
