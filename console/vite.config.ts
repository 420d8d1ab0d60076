import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The gateway serves the built files below /ui, from its own binary.
export default defineConfig({
  base: "/ui/",
  plugins: [react()],
  build: {
    outDir: "../services/gateway/internal/console/dist",
    emptyOutDir: true,
    // The strict Content-Security-Policy refuses data: scripts and inline polyfills.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    target: "es2022",
  },
  worker: { format: "es" },
  server: { proxy: { "/ui/api": "http://127.0.0.1:8420", "/ui/session": "http://127.0.0.1:8420" } },
});
