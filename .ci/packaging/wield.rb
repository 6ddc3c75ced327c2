class Wield < Formula
  desc "Gives any language model working tools"
  homepage "HOMEPAGE"
  version "VERSION"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "URL/wield_VERSION_darwin_arm64.tar.gz"
      sha256 "SUM_darwin_arm64"
    end
    on_intel do
      url "URL/wield_VERSION_darwin_amd64.tar.gz"
      sha256 "SUM_darwin_amd64"
    end
  end
  on_linux do
    on_arm do
      url "URL/wield_VERSION_linux_arm64.tar.gz"
      sha256 "SUM_linux_arm64"
    end
    on_intel do
      url "URL/wield_VERSION_linux_amd64.tar.gz"
      sha256 "SUM_linux_amd64"
    end
  end

  def install
    bin.install "wield"
    man1.install Dir["man/*.1.gz"]
    bash_completion.install "completions/wield.bash" => "wield"
    zsh_completion.install "completions/wield.zsh" => "_wield"
    fish_completion.install "completions/wield.fish"
  end

  service do
    run [opt_bin/"wield", "serve"]
    keep_alive true
  end

  test do
    assert_match "6 * 7 is 42", shell_output("#{bin}/wield run --scenario calculator --tools calculator 'What is 6 * 7?'")
  end
end
