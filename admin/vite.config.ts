import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const GATEWAY = process.env.GATEWAY_URL ?? 'http://127.0.0.1:3000'

export default defineConfig(({ command }) => ({
  base: '/admin/',
  plugins: [react()],
  // The gateway replaces the placeholder with a new nonce in each answer (src/main/admin-ui.ts).
  ...(command === 'build' && { html: { cspNonce: 'STYLE_NONCE' } }),
  build: {
    outDir: '../dist/admin',
    emptyOutDir: true,
    // Inlined files would be data: URLs, which the policy refuses for scripts and styles.
    assetsInlineLimit: 0,
    // Preloading is by link elements, which the policy allows; the helper for old browsers is not needed.
    modulePreload: { polyfill: false },
    target: 'es2023',
    // The first ones that know light-dark(); a translation for older ones would not see Mantine's theme.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
  },
  server: {
    port: 5173,
    host: '127.0.0.1',
    // Data comes from a gateway; pages come from this server.
    proxy: {
      '^/admin/': {
        target: GATEWAY,
        bypass: request =>
          /json/.test(request.headers.accept ?? '') || request.method !== 'GET' ? undefined : request.url,
      },
    },
  },
}))
