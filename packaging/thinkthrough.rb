# The formula of Homebrew. `packaging/build formula` fills in address, version and checksum.
class Thinkthrough < Formula
  desc "Keeps every thought of a reasoning model"
  url "URL"
  version "VERSION"
  sha256 "SHA256"
  license "MIT"

  def install
    bin.install "think"
    generate_completions_from_executable(bin/"think", "completions")
  end

  service do
    run [opt_bin/"think", "serve"]
    keep_alive true
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/think --version")
  end
end
